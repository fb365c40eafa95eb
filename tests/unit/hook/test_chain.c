#include "desk.h"
#include <pthread.h>
#include "base/fault.h"

#define CALL "{\"id\":\"c1\",\"name\":\"bash\",\"arguments\":\"{\\\"command\\\": \\\"ls\\\"}\",\"args\":{\"command\":\"ls\"},\"agent\":\"\",\"depth\":0,\"safety\":{\"process\":true}}"
#define POST "{\"call_id\":\"c1\",\"name\":\"bash\",\"args\":{},\"content\":\"{\\\"a\\\":1}\",\"result\":{\"a\":1},\"is_error\":false,\"elapsed_ms\":3,\"agent\":\"\",\"depth\":0}"
#define HEAP_SMALL ((size_t)4 << 20)

/* ---- one hook ---- */

typedef struct { const char *body, *want; } OneCase;

static void check_one(const char *event, const char *payload, const OneCase *t, size_t n) {
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        Desk k;
        desk_open_with(&k, HEAP_SMALL);
        desk_add(&k, &(DeskHook){ .name = "h", .event = event, .body = t[i].body, .timeout_ms = 300 });
        const char *got = desk_ask(&k, event, payload);
        if (strncmp(got, t[i].want, strlen(t[i].want)) != 0 || (t[i].want[0] != 'f' && strcmp(got, t[i].want) != 0))
            print_error("%s\n  got  %s\n  want %s\n", t[i].body, got, t[i].want), wrong++;
        desk_close(&k);
    }
    assert_int_equal(wrong, 0);
}

static void test_decisions(void **state) {
    (void)state;
    static const OneCase cases[] = {
        { NULL, "allow" },
        { "return allow()", "allow" },
        { "return {\"action\": \"allow\"}", "allow" },
        { "return block(\"no\")", "block h: no" },
        { "return {\"action\": \"block\", \"reason\": \"no\"}", "block h: no" },
        { "return {\"action\": \"block\"}", "block h: blocked by hook h" },
        { "return modify(payload)", "allow" },
        { "return block(event + \" \" + payload[\"name\"] + \" \" + payload[\"args\"][\"command\"])", "block h: tool.pre bash ls" },
        { "payload[\"args\"][\"command\"] = \"pwd\"; return modify(payload)",
          "modify {\"id\":\"c1\",\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":\\\"pwd\\\"}\",\"args\":{\"command\":\"pwd\"},\"agent\":\"\",\"depth\":0,"
          "\"safety\":{\"process\":true}}" },
        { "return {\"action\": \"modify\", \"payload\": dict(payload, args={\"t\": (1, 2.5)})}",
          "modify {\"id\":\"c1\",\"name\":\"bash\",\"arguments\":\"{\\\"t\\\":[1,2.5]}\",\"args\":{\"t\":[1,2.5]},\"agent\":\"\",\"depth\":0,\"safety\":{\"process\":true}}" },
        { "payload[\"args\"].clear(); payload[\"safety\"][\"x\"] = 1; payload.pop(\"name\"); return allow()", "allow" },
    };
    check_one("tool.pre", CALL, cases, COUNT(cases));
}

static void test_fails_closed(void **state) {
    (void)state;
    static const OneCase cases[] = {
        { "fail(\"boom\")", "failed h: hook h failed: hook.md:2:9: fail: boom" },
        { "return 1 // 0", "failed h: hook h failed: hook.md:2:14: " },
        { "def other(event, payload):\n    return allow()\n", "failed h: hook h failed: module has no function handle" },
        { "def handle():\n    return allow()\n", "failed h: hook h failed: " },
        { "return [1 for _ in range(1000000000) for _ in range(1000000000)]", "failed h: hook h failed: hook.md:" },
        { "def handle(event, payload):\n    for _ in range(1000000000000):\n        pass\n    return allow()\n",
          "failed h: hook h failed: hook.md:2:5: timed out after 0.3 s" },
        { "return len([\"x\" * 1000000 for _ in range(100)])", "failed h: hook h failed: hook.md:" },
        { "return None", "failed h: hook h failed: handle returned None" },
        { "pass", "failed h: hook h failed: handle returned None" },
        { "return True", "failed h: hook h failed: handle returned bool" },
        { "return \"allow\"", "failed h: hook h failed: handle returned string" },
        { "return {}", "failed h: hook h failed: handle returned a dict without an action" },
        { "return {\"action\": None}", "failed h: " },
        { "return {\"action\": \"Allow\"}", "failed h: hook h failed: unknown action \"Allow\"" },
        { "return {\"action\": \"block\", \"reason\": 7}", "failed h: hook h failed: the reason of a block must be a string, not int" },
        { "return {\"action\": \"modify\"}", "failed h: hook h failed: modify needs a dict as payload, not nothing" },
        { "return modify([1])", "failed h: hook h failed: hook.md:2:18: modify: " },
        { "return {\"action\": \"modify\", \"payload\": [1]}", "failed h: hook h failed: modify needs a dict as payload, not list" },
        { "return delegate({})", "failed h: hook h failed: delegate is not a decision for tool.pre" },
        { "return modify(dict(payload, args=1))", "failed h: hook h failed: payload[\"args\"] must be a dict, not int" },
        { "return modify(dict(payload, args=None))", "failed h: hook h failed: payload[\"args\"] must be a dict, not NoneType" },
        { "return modify(dict(payload, args={\"f\": len}))", "failed h: hook h failed: payload[\"args\"] has no JSON form: " },
        { "return modify(dict(payload, args={\"f\": float(\"nan\")}))", "failed h: hook h failed: payload[\"args\"] has no JSON form: " },
        { "return modify(dict(payload, args={1: 2}))", "failed h: hook h failed: payload[\"args\"] has no JSON form: " },
        { "return modify(dict(payload, args={\"s\": \"é\"[:1]}))", "failed h: hook h failed: payload[\"args\"] has no JSON form: " },
        { "payload[\"args\"][\"me\"] = payload[\"args\"]; return modify(payload)", "failed h: hook h failed: payload[\"args\"]" },
        { "return modify(dict(payload, arguments=\"{}\"))", "failed h: hook h failed: modify may not change payload[\"arguments\"]" },
        { "return modify(dict(payload, name=\"read\"))", "failed h: hook h failed: modify may not change payload[\"name\"]" },
        { "return modify({\"args\": {}})", "failed h: hook h failed: modify may not remove payload[\"id\"]" },
        { "return modify(dict(payload, more=1))", "failed h: hook h failed: modify may not add payload[\"more\"]" },
        { "payload[1] = 2; return modify(payload)", "failed h: hook h failed: modify: payload has a key that is a int" },
        { "def handle(event, payload):\n    x = []\n    for _ in range(100):\n        x = [x, x]\n    payload[\"args\"][\"x\"] = x\n    return modify(payload)\n", "failed h: hook h failed: payload[\"args\"]" },
    };
    check_one("tool.pre", CALL, cases, COUNT(cases));
}

static void test_when(void **state) {
    (void)state;
    static const struct { const char *when, *want; } cases[] = {
        { "True", "block h: no" },
        { "payload[\"name\"] == \"bash\" and event == \"tool.pre\"", "block h: no" },
        { "payload[\"name\"] == \"read\"", "allow" },
        { "None", "allow" },
        { "payload[\"nope\"]", "failed h: hook h failed: hook.md:1:8: when: " },
        { "payload.pop(\"name\") and False", "failed h: hook h failed: " },
        { "payload[\"args\"].update([(\"a\", 1)]) or False", "failed h: hook h failed: " },
        { "[0 for _ in range(1000000000) for _ in range(1000000000)]", "failed h: hook h failed: " },
        { "\"x\" * 100000000", "failed h: hook h failed: " },
        { "1 // 0", "failed h: hook h failed: " },
    };
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT(cases); i++) {
        Desk k;
        desk_open_with(&k, HEAP_SMALL);
        desk_add(&k, &(DeskHook){ .name = "h", .when = cases[i].when, .body = "return block(\"no\")", .timeout_ms = 300 });
        const char *got = desk_ask(&k, "tool.pre", CALL);
        if (strncmp(got, cases[i].want, strlen(cases[i].want)) != 0) print_error("%s\n  got  %s\n  want %s\n", cases[i].when, got, cases[i].want), wrong++;
        desk_close(&k);
    }
    assert_int_equal(wrong, 0);
}

/* ---- rules of each event ---- */

typedef struct { const char *event, *payload, *body, *want; } EventCase;

static void test_events(void **state) {
    (void)state;
#define PRE "{\"model\":\"m\",\"messages\":[{\"role\":\"user\"}],\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]}"
#define TALK "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"u\",\"parts\":[{\"type\":\"text\",\"text\":\"u\"},{\"type\":\"image\",\"mime\":\"image/png\",\"bytes\":1,\"sha256\":\"ab\"}]}," \
    "{\"role\":\"assistant\",\"content\":\"xy\",\"tool_calls\":[{\"id\":\"1\",\"name\":\"a\",\"arguments\":\"{}\"}],\"parts\":[{\"type\":\"reasoning\",\"text\":\"r\"},{\"type\":\"text\",\"text\":\"x\"}," \
    "{\"type\":\"call\",\"id\":\"1\",\"name\":\"a\",\"arguments\":\"{}\"},{\"type\":\"text\",\"text\":\"y\"}]}," \
    "{\"role\":\"tool\",\"content\":\"t\",\"tool_call_id\":\"1\",\"parts\":[{\"type\":\"result\",\"id\":\"1\",\"text\":\"t\",\"is_error\":false}]}],\"tools\":[]}"
#define SAID "{\"text\":\"xy\",\"tool_calls\":[{\"id\":\"1\",\"name\":\"a\",\"arguments\":\"{}\"},{\"id\":\"2\",\"name\":\"b\",\"arguments\":\"{}\"}],\"parts\":[{\"type\":\"reasoning\",\"text\":\"r\"}," \
    "{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"call\",\"id\":\"1\",\"name\":\"a\",\"arguments\":\"{}\"},{\"type\":\"text\",\"text\":\"y\"},{\"type\":\"call\",\"id\":\"2\",\"name\":\"b\",\"arguments\":\"{}\"}],\"finish_reason\":\"stop\",\"usage\":{}}"
#define DONE "{\"text\":\"t\",\"tool_calls\":[{\"id\":1},{\"id\":2}],\"finish_reason\":\"stop\",\"usage\":{}}"
#define GO "{\"id\":\"d\",\"parent_id\":\"p\",\"task\":\"t\",\"agent\":\"a\",\"model\":\"m\",\"tools\":[\"x\",\"y\"],\"hooks\":[],\"depth\":1}"
#define CAME "{\"id\":\"d\",\"parent_id\":\"p\",\"agent\":\"a\",\"response\":\"r\",\"tool_calls\":[],\"tool_results\":[],\"usage\":{}}"
#define STOP "{\"id\":\"d\",\"finish_reason\":\"stop\",\"iteration\":1,\"response\":\"r\",\"tool_calls\":[],\"tool_results\":[],\"usage\":{}}"
#define META "{\"kind\":\"tool\",\"name\":\"t\",\"definition\":{}}"
    static const EventCase cases[] = {
        { "tool.post", POST, "return allow()", "allow" },
        { "tool.post", POST, "return block(\"x\")", "block h: x" },
        { "tool.post", POST, "payload[\"result\"][\"a\"] = \"***\"; return modify(payload)",
            "modify {\"call_id\":\"c1\",\"name\":\"bash\",\"args\":{},\"content\":\"{\\\"a\\\":\\\"***\\\"}\",\"result\":{\"a\":\"***\"},\"is_error\":false" },
        { "tool.post", POST, "return modify(dict(payload, content=\"[1, 2]\"))",
            "modify {\"call_id\":\"c1\",\"name\":\"bash\",\"args\":{},\"content\":\"[1,2]\",\"result\":[1,2],\"is_error\":false" },
        { "tool.post", POST, "return modify(dict(payload, content=\"[1, 2]\", result=[1, 2]))",
            "modify {\"call_id\":\"c1\",\"name\":\"bash\",\"args\":{},\"content\":\"[1,2]\",\"result\":[1,2]" },
        { "tool.post", POST, "return modify(dict(payload, content=\"[1]\", result=[2]))", "failed h: hook h failed: modify changed both" },
        { "tool.post", POST, "return modify(dict(payload, content=\"plain\"))", "failed h: hook h failed: payload[\"content\"] is not JSON text" },
        { "tool.post", POST, "return modify(dict(payload, content=1))", "failed h: hook h failed: payload[\"content\"] must be a string" },
        { "tool.post", POST, "return modify(dict(payload, is_error=True))",
            "modify {\"call_id\":\"c1\",\"name\":\"bash\",\"args\":{},\"content\":\"{\\\"a\\\":1}\",\"result\":{\"a\":1},\"is_error\":true" },
        { "tool.post", POST, "return modify(dict(payload, is_error=1))", "failed h: " },
        { "tool.post", POST, "return modify(dict(payload, args={\"x\": 1}))", "failed h: hook h failed: modify may not change payload[\"args\"]" },
        { "tool.post", POST, "return delegate({})", "failed h: " },
        { "completion.pre", PRE, "payload[\"messages\"].append({\"role\": \"system\"}); return modify(payload)",
            "modify {\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"parts\":[]},{\"role\":\"system\",\"parts\":[]}]" },
        { "completion.pre", PRE, "payload[\"tools\"].pop(1); return modify(payload)",
            "modify {\"model\":\"m\",\"messages\":[{\"role\":\"user\"}],\"tools\":[{\"name\":\"a\"},{\"name\":\"c\"}]}" },
        { "completion.pre", PRE, "return modify(dict(payload, tools=[]))", "modify {\"model\":\"m\",\"messages\":[{\"role\":\"user\"}],\"tools\":[]}" },
        { "completion.pre", PRE, "payload[\"tools\"].append({\"name\": \"d\"}); return modify(payload)",
            "failed h: hook h failed: modify may not add to, reorder or alter payload[\"tools\"]" },
        { "completion.pre", PRE, "payload[\"tools\"].append({\"name\": \"a\"}); return modify(payload)", "failed h: " },
        { "completion.pre", PRE, "payload[\"tools\"][0][\"name\"] = \"z\"; return modify(payload)", "failed h: " },
        { "completion.pre", PRE, "return modify(dict(payload, tools=payload[\"tools\"][::-1]))", "failed h: " },
        { "completion.pre", PRE, "return modify(dict(payload, tools=None))", "failed h: " },
        { "completion.pre", PRE, "return modify(dict(payload, model=\"n\"))", "failed h: " },
        { "completion.pre", PRE, "return modify(dict(payload, messages=\"x\"))", "failed h: " },
        { "completion.post", DONE, "return modify(dict(payload, text=\"u\"))", "modify {\"text\":\"u\"" },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"parts\"].pop(1); return modify(payload)",
            "modify {\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"u\",\"parts\":[{\"type\":\"text\",\"text\":\"u\"}]}," },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"parts\"][0][\"text\"] = \"new\"; return modify(payload)",
            "modify {\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"new\",\"parts\":[{\"type\":\"text\",\"text\":\"new\"},{\"type\":\"image\"," },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"content\"] = \"new\"; return modify(payload)",
            "modify {\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"new\",\"parts\":[{\"type\":\"text\",\"text\":\"new\"},{\"type\":\"image\"," },
        { "completion.pre", TALK, "payload[\"messages\"] = [payload[\"messages\"][2]]; payload[\"messages\"][0][\"parts\"][0][\"text\"] = \"z\"; return modify(payload)", "modify {\"model\":\"m\",\"messages\":[{\"role\":\"tool\",\"content\":\"z\",\"tool_call_id\":\"1\",\"parts\":[{\"type\":\"result\",\"id\":\"1\",\"text\":\"z\",\"is_error\":false}]}]" },
        { "completion.pre", TALK, "payload[\"messages\"] = [payload[\"messages\"][1]]; payload[\"messages\"][0][\"parts\"].pop(2); return modify(payload)", "modify {\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"content\":\"xy\",\"parts\":[{\"type\":\"reasoning\",\"text\":\"r\"},{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"text\",\"text\":\"y\"}]}]" },
        { "completion.pre", TALK, "payload[\"messages\"] = [payload[\"messages\"][1]]; payload[\"messages\"][0][\"content\"] = \"z\"; return modify(payload)", "modify {\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"content\":\"z\",\"tool_calls\":[{\"id\":\"1\",\"name\":\"a\",\"arguments\":\"{}\"}],\"parts\":[{\"type\":\"reasoning\",\"text\":\"r\"},{\"type\":\"text\",\"text\":\"z\"},{\"type\":\"call\",\"id\":\"1\",\"name\":\"a\",\"arguments\":\"{}\"}]}]" },
        { "completion.pre", TALK, "payload[\"messages\"] = [{\"role\": \"user\", \"parts\": [{\"type\": \"text\", \"text\": \"p\"}]}]; return modify(payload)", "modify {\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"p\"}],\"content\":\"p\"}]" },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"parts\"][0][\"text\"] = \"new\"; payload[\"messages\"][0][\"content\"] = \"other\"; return modify(payload)", "failed h: hook h failed: payload[\"messages\"]: message 1: content and parts disagree" },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"parts\"].append(1); return modify(payload)",
            "failed h: hook h failed: payload[\"messages\"]: message 1: part 3 is not a dict" },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"parts\"].append({\"type\": \"video\"}); return modify(payload)",
            "failed h: hook h failed: payload[\"messages\"]: message 1: part 3 has an unknown type" },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"parts\"].append({\"type\": \"call\", \"id\": \"9\", \"name\": \"a\", \"arguments\": \"{}\"}); return modify(payload)", "failed h: hook h failed: payload[\"messages\"]: message 1: part 3 is a call" },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"parts\"].append({\"type\": \"image\"}); return modify(payload)",
            "failed h: hook h failed: payload[\"messages\"]: message 1: part 3 needs a mime type" },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"parts\"].append({\"type\": \"image\", \"mime\": \"image/png\"}); return modify(payload)", "failed h: hook h failed: payload[\"messages\"]: message 1: part 3 needs data" },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"parts\"] = \"x\"; return modify(payload)",
            "failed h: hook h failed: payload[\"messages\"]: message 1: parts must be a list" },
        { "completion.pre", TALK, "payload[\"messages\"][1][\"parts\"][1] = {\"type\": \"text\"}; return modify(payload)",
            "failed h: hook h failed: payload[\"messages\"]: message 2: part 2 needs a text" },
        { "completion.pre", TALK, "payload[\"messages\"][1][\"parts\"][2][\"arguments\"] = {}; return modify(payload)",
            "failed h: hook h failed: payload[\"messages\"]: message 2: part 3 needs an id, a name and arguments" },
        { "completion.pre", TALK, "payload[\"messages\"][1][\"parts\"].append({\"type\": \"image\", \"mime\": \"image/png\", \"data\": \"\"}); return modify(payload)", "failed h: hook h failed: payload[\"messages\"]: message 2: part 5 is an image or file" },
        { "completion.pre", TALK, "payload[\"messages\"][2][\"parts\"] = []; return modify(payload)",
            "failed h: hook h failed: payload[\"messages\"]: message 3: a message of role tool needs a result" },
        { "completion.pre", TALK, "payload[\"messages\"][2][\"parts\"].append(payload[\"messages\"][2][\"parts\"][0]); return modify(payload)", "failed h: hook h failed: payload[\"messages\"]: message 3: part 2 is a result" },
        { "completion.pre", TALK, "payload[\"messages\"].append(\"x\"); return modify(payload)",
            "failed h: hook h failed: payload[\"messages\"]: message 4: is not a dict" },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"role\"] = \"robot\"; return modify(payload)",
            "failed h: hook h failed: payload[\"messages\"]: message 1: has no known role" },
        { "completion.pre", TALK, "payload[\"messages\"][0][\"content\"] = 7; return modify(payload)",
            "failed h: hook h failed: payload[\"messages\"]: message 1: content must be a string" },
        { "completion.post", SAID, "payload[\"text\"] = \"z\"; return modify(payload)",
            "modify {\"text\":\"z\",\"tool_calls\":[{\"id\":\"1\",\"name\":\"a\",\"arguments\":\"{}\"},{\"id\":\"2\",\"name\":\"b\",\"arguments\":\"{}\"}],\"parts\":[{\"type\":\"reasoning\",\"text\":\"r\"},{\"type\":\"text\",\"text\":\"z\"},{\"type\":\"call\",\"id\":\"1\"" },
        { "completion.post", SAID, "payload[\"tool_calls\"].pop(0); return modify(payload)",
            "modify {\"text\":\"xy\",\"tool_calls\":[{\"id\":\"2\",\"name\":\"b\",\"arguments\":\"{}\"}],\"parts\":[{\"type\":\"reasoning\",\"text\":\"r\"},{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"text\",\"text\":\"y\"},{\"type\":\"call\",\"id\":\"2\"" },
        { "completion.post", SAID, "payload[\"parts\"].pop(0); return modify(payload)",
            "modify {\"text\":\"xy\",\"tool_calls\":[{\"id\":\"1\",\"name\":\"a\",\"arguments\":\"{}\"},{\"id\":\"2\",\"name\":\"b\",\"arguments\":\"{}\"}],\"parts\":[{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"call\",\"id\":\"1\"" },
        { "completion.post", SAID, "payload[\"parts\"] = payload[\"parts\"][:2]; return modify(payload)",
            "modify {\"text\":\"x\",\"tool_calls\":[],\"parts\":[{\"type\":\"reasoning\",\"text\":\"r\"},{\"type\":\"text\",\"text\":\"x\"}]" },
        { "completion.post", SAID, "payload[\"parts\"][2][\"arguments\"] = \"{1}\"; return modify(payload)",
            "failed h: hook h failed: modify may not add to, reorder or alter payload[\"tool_calls\"]" },
        { "completion.post", SAID, "payload[\"parts\"].append({\"type\": \"call\", \"id\": \"3\", \"name\": \"c\", \"arguments\": \"{}\"}); return modify(payload)", "failed h: hook h failed: modify may not add to, reorder or alter payload[\"tool_calls\"]" },
        { "completion.post", SAID, "payload[\"parts\"] = [payload[\"parts\"][4], payload[\"parts\"][2]]; return modify(payload)",
            "failed h: hook h failed: modify may not add to, reorder or alter payload[\"tool_calls\"]" },
        { "completion.post", SAID, "payload[\"parts\"][1][\"text\"] = \"q\"; payload[\"text\"] = \"w\"; return modify(payload)",
            "failed h: hook h failed: payload[\"parts\"]: message 1: content and parts disagree" },
        { "completion.post", SAID, "payload[\"parts\"] = None; return modify(payload)", "failed h: hook h failed: payload[\"parts\"] must be a list" },
        { "completion.post", SAID, "payload[\"parts\"][0] = {\"type\": \"reasoning\", \"text\": None}; return modify(payload)",
            "failed h: hook h failed: payload[\"parts\"]: message 1: part 1 needs a text" },
        { "completion.post", DONE, "payload[\"tool_calls\"].pop(); return modify(payload)", "modify {\"text\":\"t\",\"tool_calls\":[{\"id\":1}]" },
        { "completion.post", DONE, "payload[\"tool_calls\"][0][\"id\"] = 9; return modify(payload)", "failed h: " },
        { "completion.post", DONE, "return modify(dict(payload, finish_reason=\"x\"))", "failed h: " },
        { "delegation.pre", GO, "return modify(dict(payload, task=\"u\", tools=[\"y\"]))",
            "modify {\"id\":\"d\",\"parent_id\":\"p\",\"task\":\"u\",\"agent\":\"a\",\"model\":\"m\",\"tools\":[\"y\"]" },
        { "delegation.pre", GO, "return modify(dict(payload, tools=[\"z\"]))", "failed h: " },
        { "delegation.pre", GO, "return modify(dict(payload, hooks=[\"z\"]))", "failed h: " },
        { "delegation.pre", GO, "return modify(dict(payload, agent=\"b\"))", "failed h: " },
        { "delegation.post_verify", CAME, "return block(\"again\")", "block h: again" },
        { "delegation.post_verify", CAME, "return modify(dict(payload, response=\"s\"))",
            "failed h: hook h failed: modify is not a decision for delegation.post_verify" },
        { "delegation.post", CAME, "return modify(dict(payload, response={\"a\": 1}))",
            "modify {\"id\":\"d\",\"parent_id\":\"p\",\"agent\":\"a\",\"response\":{\"a\":1}" },
        { "delegation.post", CAME, "return delegate({\"agent\": \"b\", \"task\": (1,)})", "delegate h {\"agent\":\"b\",\"task\":[1]}" },
        { "delegation.post", CAME, "return delegate({\"agent\": len})", "failed h: hook h failed: the request has no JSON form" },
        { "delegation.post", CAME, "return delegate(\"b\")", "failed h: hook h failed: hook.md:2:20: delegate: " },
        { "delegation.post", CAME, "return {\"action\": \"delegate\", \"request\": \"b\"}", "failed h: hook h failed: delegate needs a dict as request" },
        { "delegation.post", CAME, "return delegate(agent = \"b\", task = \"t\")", "delegate h {\"agent\":\"b\",\"task\":\"t\"}" },
        { "delegation.post", CAME, "return modify(dict(payload, usage={\"x\": 1}))", "failed h: " },
        { "agent.stop", STOP, "return block(\"go on\")", "block h: go on" },
        { "agent.stop", STOP, "return delegate({})", "delegate h {}" },
        { "agent.stop", STOP, "return modify(payload)", "failed h: " },
        { "session.start", "{\"run\":\"r\",\"agent\":\"\"}", "return block(\"closed\")", "block h: closed" },
        { "session.start", "{\"run\":\"r\",\"agent\":\"\"}", "return modify(dict(payload, text=\"hi\"))",
            "failed h: hook h failed: modify is not a decision for session.start" },
        { "turn.start", "{\"run\":\"r\",\"agent\":\"\",\"text\":\"a\"}", "return modify(dict(payload, text=\"b\"))",
            "modify {\"run\":\"r\",\"agent\":\"\",\"text\":\"b\"}" },
        { "turn.start", "{\"run\":\"r\",\"agent\":\"\",\"text\":\"a\"}", "payload.pop(\"text\"); return modify(payload)",
            "failed h: hook h failed: modify may not remove payload[\"text\"]" },
        { "turn.start", "{\"run\":\"r\",\"agent\":\"\",\"text\":\"a\"}", "return modify(dict(payload, text=1))", "failed h: " },
        { "meta.tool_register", META, "return block(event)", "block h: meta.tool_register" },
        { "meta.tool_register", META, "return modify(payload)", "failed h: " },
        { "turn.end", "{}", "return block(\"x\")", "allow" },
        { "session.end", "{}", "fail(\"x\")", "allow" },
        { "error", "{\"a\":1}", "return modify({})", "allow" },
        { "log", "{}", "return None", "allow" },
        { "custom.thing.x", "{}", "return 5", "allow" },
    };
    size_t wrong = 0;
    bool seen[HOOK_EVENT_COUNT] = { [HOOK_TOOL_PRE] = true };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Desk k;
        HookEvent e;
        desk_open_with(&k, HEAP_SMALL);
        desk_add(&k, &(DeskHook){ .name = "h", .event = cases[i].event, .body = cases[i].body });
        const char *got = desk_ask(&k, cases[i].event, cases[i].payload);
        if (strncmp(got, cases[i].want, strlen(cases[i].want)) != 0)
            print_error("%s %s\n  got  %s\n  want %s\n", cases[i].event, cases[i].body, got, cases[i].want), wrong++;
        seen[(hook_event_find(str_from(cases[i].event), &e), e)] = true;
        desk_close(&k);
    }
    assert_int_equal(wrong, 0);
    for (int e = 0; e < HOOK_EVENT_COUNT; e++)
        if (!seen[e]) fail_msg("no case for %s", hook_event_name((HookEvent)e));
}

/* ---- several hooks ---- */

typedef struct { const char *what; DeskHook hooks[4]; const char *want, *trace; } ChainCase;

#define SET(x) "payload[\"args\"][\"command\"] = " x "; return modify(payload)"
#define NOW(x) "modify {\"id\":\"c1\",\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":\\\"" x "\\\"}\",\"args\":{\"command\":\"" x "\"},\"agent\":\"\",\"depth\":0,\"safety\":{\"process\":true}}"
#define NO_RM "return block(\"rm\") if \"rm\" in payload[\"args\"][\"command\"] else allow()"

static void test_composition(void **state) {
    (void)state;
    static const ChainCase cases[] = {
        { "by priority", { { .name = "b", .priority = 2, .body = "return allow()" },
            { .name = "a", .priority = 3, .body = "return allow()" }, { .name = "c", .priority = -1, .body = "return allow()" } }, "allow",
            "c=allow b=allow a=allow" },
        { "then by path", { { .name = "x", .priority = 0, .body = "return allow()", .file = "b.md" },
            { .name = "y", .priority = 0, .body = "return allow()", .file = "a.md" } }, "allow", "y=allow x=allow" },
        { "then by line", { { .name = "y", .priority = 0, .body = "return allow()", .file = "a.md" },
            { .name = "x", .priority = 0, .body = "return allow()", .file = "a.md" } }, "allow", "y=allow x=allow" },
        { "block ends the chain", { { .name = "a", .priority = 0, .body = "return block(\"no\")" },
            { .name = "b", .priority = 1, .body = "return allow()" } }, "block a: no", "a=block" },
        { "a later change is caught by an earlier guard",
            { { .name = "guard", .priority = 0, .body = NO_RM }, { .name = "bad", .priority = 9, .body = SET("\"rm -rf /\"") } },
            "block guard: rm",
          "guard=allow bad=modify guard(again)=block" },
        { "by one whose when did not hold before",
            { { .name = "guard", .priority = 0, .when = "\"rm\" in payload[\"args\"][\"command\"]", .body = "return block(\"rm\")" },
            { .name = "bad", .priority = 9, .body = SET("\"rm x\"") } },
          "block guard: rm", "bad=modify guard(again)=block" },
        { "by one that reads the text", { { .name = "guard", .priority = 0, .when = "\"rm\" in payload[\"arguments\"]",
            .body = "return block(\"rm\")" }, { .name = "bad", .priority = 9, .body = SET("\"rm x\"") } },
          "block guard: rm", "bad=modify guard(again)=block" },
        { "two that change", { { .name = "a", .priority = 0, .when = "payload[\"args\"][\"command\"] == \"ls\"", .body = SET("\"ls -l\"") },
            { .name = "b", .priority = 1, .body = SET("payload[\"args\"][\"command\"] + \" /\"") } },
          NOW("ls -l /"), "a=modify b=modify" },
        { "asked again, and says the same", { { .name = "a", .priority = 0, .body = SET("payload[\"args\"][\"command\"].upper()") },
            { .name = "b", .priority = 1, .body = SET("payload[\"args\"][\"command\"] + \" /\"") } },
          NOW("LS /"), "a=modify b=modify a(again)=allow" },
        { "asked again, and changes", { { .name = "a", .priority = 0, .body = SET("payload[\"args\"][\"command\"] + \"a\"") },
            { .name = "b", .priority = 1, .body = SET("\"x\"") } },
          "failed a: hook a failed: another hook changed the payload, so this hook ran again: it may then only allow or block, not modify",
              "a=modify b=modify a(again)=block!" },
        { "asked again, fails, and may", { { .name = "a", .priority = 0, .body = SET("payload[\"args\"][\"command\"] + \"a\""),
            .on_error_allow = true }, { .name = "b", .priority = 1, .body = SET("\"x\"") } },
          NOW("x"), "a=modify b=modify a(again)=allow!" },
        { "two changes, asked twice", { { .name = "g", .priority = 0, .body = NO_RM },
            { .name = "a", .priority = 1, .when = "payload[\"args\"][\"command\"] == \"ls\"", .body = SET("\"r\"") },
            { .name = "b", .priority = 2, .body = SET("payload[\"args\"][\"command\"] + \"m\"") } },
          "block g: rm", "g=allow a=modify g(again)=allow b=modify g(again)=block" },
        { "on_error: allow", { { .name = "a", .priority = 0, .body = "fail(\"x\")", .on_error_allow = true },
            { .name = "b", .priority = 1, .body = "return block(\"b\")" } }, "block b: b", "a=allow! b=block" },
        { "when fails, on_error: allow", { { .name = "a", .priority = 0, .when = "1 // 0", .body = "return block(\"a\")",
            .on_error_allow = true } }, "allow", "a=allow!" },
        { "a forbidden change, on_error: allow",
            { { .name = "a", .priority = 0, .body = "return modify(dict(payload, name=\"x\"))", .on_error_allow = true } }, "allow",
            "a=allow!" },
        { "a heap bomb that may fail", { { .name = "a", .priority = 0, .body = "return len([\"x\" * 1000000 for _ in range(100)])", .on_error_allow = true },
          { .name = "b", .priority = 1, .body = "return block(str(len([\"y\" * 100000 for _ in range(20)])))" } }, "block b: 20", "a=allow! b=block" },
        { "each has its own copy", { { .name = "a", .priority = 0, .body = "payload[\"args\"][\"command\"] = \"x\"; return allow()" },
            { .name = "b", .priority = 1, .body = "return block(payload[\"args\"][\"command\"])" } },
          "block b: ls", "a=allow b=block" },
        { "globals do not stay", { { .name = "a", .priority = 0,
            .body = "n = [0]\ndef handle(event, payload):\n    n[0] += 1\n    return allow() if n[0] == 1 else block(\"kept\")\n" },
            { .name = "b", .priority = 1, .body = SET("\"x\"") } },
          NOW("x"), "a=allow b=modify a(again)=allow" },
        { "no script", { { .name = "a", .priority = 0, .when = "1 // 0", .body = NULL } }, "allow", "" },
        { "inside an agent only", { { .name = "a", .priority = 0, .body = "return block(\"a\")", .agent = "other" } }, "allow", "" },
    };
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT(cases); i++) {
        Desk k;
        desk_open_with(&k, HEAP_SMALL);
        for (int j = 0; j < 4 && cases[i].hooks[j].name; j++) desk_add(&k, &cases[i].hooks[j]);
        const char *got = desk_ask(&k, "tool.pre", CALL);
        if (strcmp(got, cases[i].want) != 0 || strcmp(k.traced.at, cases[i].trace) != 0)
            print_error("%s\n  got  %s\n       %s\n  want %s\n       %s\n", cases[i].what, got, k.traced.at, cases[i].want, cases[i].trace), wrong++;
        desk_close(&k);
    }
    assert_int_equal(wrong, 0);
}

static void test_agents(void **state) {
    (void)state;
    static const Str inside[] = { STR("outer"), STR("inner") }, other[] = { STR("else") }, extra[] = { STR("inner.hooks[0]"), STR("free") };
    Desk k;
    desk_open(&k);
    desk_add(&k, &(DeskHook){ .name = "free", .body = "return allow()" });
    desk_add(&k, &(DeskHook){ .name = "inner.hooks[0]", .agent = "inner", .body = "return block(\"inner\")" });
    assert_string_equal(desk_ask(&k, "tool.pre", CALL), "allow");
    assert_string_equal(desk_ask_with(&k, (HookDispatch){ .agents = other, .n_agents = 1 }, "tool.pre", CALL), "allow");
    assert_string_equal(desk_ask_with(&k, (HookDispatch){ .agents = inside, .n_agents = 2 }, "tool.pre", CALL), "block inner.hooks[0]: inner");
    assert_string_equal(desk_ask_with(&k, (HookDispatch){ .agents = inside, .n_agents = 2, .extra = extra, .n_extra = 2 }, "tool.pre",
        CALL), "block inner.hooks[0]: inner");
    assert_string_equal(k.traced.at, "free=allow inner.hooks[0]=block");
    assert_string_equal(desk_ask_with(&k, (HookDispatch){ .extra = extra, .n_extra = 2 }, "tool.pre", CALL), "block inner.hooks[0]: inner");
    desk_close(&k);
}

static void test_names(void **state) {
    (void)state;
    Desk k;
    Error err = { 0 };
    desk_open(&k);
    desk_add(&k, &(DeskHook){ .name = "a", .event = "custom.x", .body = "fail(event)" });
    assert_true(hook_list_any(k.hooks, HOOK_CUSTOM, STR("custom.x")));
    assert_false(hook_list_any(k.hooks, HOOK_CUSTOM, STR("custom.xy")));
    assert_false(hook_list_any(k.hooks, HOOK_TOOL_PRE, (Str){ 0 }));
    desk_ask(&k, "custom.xy", "{}");
    assert_string_equal(k.traced.at, "");
    desk_ask(&k, "custom.x", "{}");
    assert_string_equal(k.traced.at, "a=allow!");
    assert_false(hook_list_add(k.hooks, desk_def(&k, &(DeskHook){ .name = "a", .body = "return allow()" }), &err));
    assert_string_equal(err.msg, "hook \"a\" is defined more than once");
    assert_false(hook_list_add(k.hooks, desk_def(&k, &(DeskHook){ .name = "b", .event = "tool.prey" }), &err));
    assert_string_equal(err.msg, "hook \"b\": event \"tool.prey\" is invalid");
    HookDef command = { .name = STR("c"), .event = STR("turn.end"), .kind = HOOK_COMMAND };
    assert_false(hook_list_add(k.hooks, &command, &err));
    assert_false(hook_list_add(k.hooks, desk_def(&k, &(DeskHook){ .name = "", .body = "return allow()" }), &err));
    HookEvent e;
    assert_true(hook_event_find(STR("meta.x"), &e) && e == HOOK_META && !hook_event_find(STR("meta."), &e) && !hook_event_find(STR("meta"), &e));
    desk_close(&k);
}

/* The cancel token of the whole dispatch ends it, regardless of on_error. */
static void test_cancel(void **state) {
    (void)state;
    Desk k;
    desk_open(&k);
    desk_add(&k, &(DeskHook){ .name = "a", .on_error_allow = true, .body = "return len([0 for _ in range(1000000000000)])" });
    Cancel *c = cancel_new(NULL, 0);
    cancel_fire(c);
    assert_string_equal(desk_ask_with(&k, (HookDispatch){ .cancel = c }, "tool.pre", CALL), "block : cancelled");
    assert_string_equal(k.traced.at, "");
    cancel_free(c);
    c = cancel_new(NULL, 20000000);
    assert_string_equal(desk_ask_with(&k, (HookDispatch){ .cancel = c }, "tool.pre", CALL), "block : timed out after 0.02 s");
    cancel_free(c);
    assert_string_equal(desk_ask_with(&k, (HookDispatch){ .nesting = HOOK_NESTING_MAX + 1 }, "tool.pre", CALL), "failed : hooks: events are nested too deep");
    desk_close(&k);
}

/* A payload larger than the memory limit of a hook. */
static void test_large(void **state) {
    (void)state;
    Desk k;
    desk_open_with(&k, HEAP_SMALL);
    desk_add(&k, &(DeskHook){ .name = "a", .event = "tool.post", .body = "return allow() if len(payload[\"result\"]) == 8000000 else block(\"short\")" });
    Buf b = { 0 };
    buf_add(&b, STR("{\"result\":\""));
    for (int i = 0; i < 8000000; i++) buf_add_char(&b, 'x');
    buf_add(&b, STR("\"}"));
    for (int i = 0; i < 3; i++) assert_string_equal(desk_ask(&k, "tool.post", b.at), "allow");
    buf_clear(&b);
    desk_close(&k);
}

/* Arguments of the maximum depth; deeper ones are rejected. */
static void test_deep(void **state) {
    (void)state;
    Desk k;
    desk_open(&k);
    desk_add(&k, &(DeskHook){ .name = "a", .body = "return allow()" });
    for (int depth = JSON_DEPTH_MAX - 1; depth < 1000; depth += 400) {
        Value v = VALUE_NONE;
        HookOutcome out;
        for (int i = 0; i < depth; i++) v = value_from_object(list_from(k.heap, &v, 1, NULL));
        Dict *args = dict_new(k.heap, 1, NULL), *payload = dict_new(k.heap, 1, NULL);
        assert_true(dict_put_str(k.heap, args, STR("x"), v, NULL) && dict_put_str(k.heap, payload, STR("args"), value_from_object(args), NULL));
        hook_dispatch(k.hooks, &(HookDispatch){ .event = HOOK_TOOL_PRE, .payload = value_from_object(payload), .heap = k.heap }, &out);
        assert_int_equal(out.decision, depth < JSON_DEPTH_MAX ? HOOK_ALLOW : HOOK_BLOCK);
        if (out.decision == HOOK_BLOCK) assert_string_equal(out.reason, "hooks: the payload: payload is nested too deep");
    }
    desk_close(&k);
}

static void test_reason_is_cut(void **state) {
    (void)state;
    Desk k;
    desk_open(&k);
    desk_add(&k, &(DeskHook){ .name = "a", .body = "return block(\"é\" * 1000)" });
    desk_ask(&k, "tool.pre", CALL);
    assert_int_equal(strlen(k.last.reason), 510);
    desk_close(&k);
}

/* The nth allocation fails, for every n: the result is correct or a block. */
static void test_faults(void **state) {
    (void)state;
#ifdef HARNESS_FAULTS
    Desk k;
    desk_open(&k);
    desk_add(&k, &(DeskHook){ .name = "a", .when = "payload[\"name\"] == \"bash\"", .body = SET("\"x\"") });
    desk_add(&k, &(DeskHook){ .name = "b", .body = NO_RM });
    HookDispatch d = { .event = HOOK_TOOL_PRE, .payload = desk_payload(&k, CALL), .heap = k.heap };
    for (long nth = 1;; nth++) {
        HookOutcome out;
        fault_arm(nth);
        hook_dispatch(k.hooks, &d, &out);
        bool hit = fault_disarm();
        if (!hit) {
            assert_int_equal(out.decision, HOOK_ALLOW);
            assert_true(out.modified);
            break;
        }
        if (out.decision == HOOK_ALLOW) assert_true(out.modified);
        else assert_true(out.failed && out.reason[0]);
    }
    desk_close(&k);
#endif
}

/* ---- threads ---- */

typedef struct { Desk *k; int id; size_t wrong; } Thread;

static void *dispatch_many(void *ctx) {
    Thread *t = ctx;
    Heap *heap = heap_new(0);
    for (int i = 0; i < 200; i++) {
        Value payload;
        HookOutcome out;
        char text[128];
        snprintf(text, sizeof text, "{\"id\":\"c\",\"name\":\"t%d\",\"arguments\":\"{}\",\"args\":{\"n\":%d}}", t->id, i);
        heap_reset(heap);
        if (!json_read(heap, str_from(text), &(JsonRead){ 0 }, &payload, NULL)) t->wrong++;
        hook_dispatch(t->k->hooks, &(HookDispatch){ .event = HOOK_TOOL_PRE, .payload = payload, .heap = heap }, &out);
        if (i % 3 == 0) t->wrong += out.decision != HOOK_BLOCK || strcmp(out.reason, "third") != 0;
        else t->wrong += out.decision != HOOK_ALLOW || !out.modified ||
                         !value_same(*dict_find_str(value_dict(*dict_find_str(value_dict(out.payload), STR("args"))), STR("n")), value_from_small(i + 1000));
    }
    heap_free(heap);
    return NULL;
}

static void *add_many(void *ctx) {
    Desk *k = ctx;
    for (int i = 0; i < 20; i++) desk_add(k,
        &(DeskHook){ .name = (const char *[]){ "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "s0", "s1", "s2", "s3", "s4",
        "s5", "s6", "s7", "s8", "s9" }[i], .priority = 20, .body = "return allow()" });
    return NULL;
}

static void count_calls(void *ctx, const HookCounters *c) {
    if (c->hook.n == 5) *(uint64_t *)ctx += c->calls * 1000000 + c->blocks * 1000 + c->errors;
}

static void test_threads(void **state) {
    (void)state;
    enum { THREADS = 16 };
    Desk k;
    desk_open(&k);
    desk_add(&k, &(DeskHook){ .name = "three", .when = "payload[\"args\"][\"n\"] % 3 == 0", .body = "return block(\"third\")" });
    desk_add(&k, &(DeskHook){ .name = "add", .priority = 1, .when = "payload[\"args\"][\"n\"] < 1000",
        .body = "payload[\"args\"][\"n\"] += 1000; return modify(payload) if payload[\"args\"][\"n\"] % 3 != 2 else modify(payload)" });
    k.defs[0].when = desk_compile(&k, "payload[\"args\"][\"n\"] < 1000 and payload[\"args\"][\"n\"] % 3 == 0", true);
    pthread_t thread[THREADS], adder;
    Thread t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        t[i] = (Thread){ &k, i, 0 };
        pthread_create(&thread[i], NULL, dispatch_many, &t[i]);
    }
    pthread_create(&adder, NULL, add_many, &k);
    pthread_join(adder, NULL);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(t[i].wrong, 0);
    }
    uint64_t counted = 0;
    hook_stats_each(k.stats, count_calls, &counted);
    assert_int_equal(counted, (uint64_t)THREADS * 67 * 1001000);
    desk_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions), cmocka_unit_test(test_fails_closed), cmocka_unit_test(test_when), cmocka_unit_test(test_events),
        cmocka_unit_test(test_composition), cmocka_unit_test(test_agents), cmocka_unit_test(test_names), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_large), cmocka_unit_test(test_deep), cmocka_unit_test(test_reason_is_cut), cmocka_unit_test(test_faults),
            cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
