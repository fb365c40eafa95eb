/* Tests include/harness.h as a host program would use it: only through that header. */
#include "unit.h"
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include "harness.h"

enum { THREADS = 16 };

/* ---- test project ---- */

static char dir[64];

static void put(const char *path, const char *text) {
    char whole[256];
    snprintf(whole, sizeof whole, "%s/%s", dir, path);
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_project(void **state) {
    (void)state;
    char path[128];
    strcpy(dir, "/tmp/harness-api-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.harness", dir);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/.harness/tools", dir);
    mkdir(path, 0755);
    put("harness.md", "---\nbuiltin_tools: all\nlimits:\n  max_tool_calls: 1000000\nsecrets:\n  TOKEN: { env: API_TEST_TOKEN }\n"
        "rules:\n  - { name: no-hidden, file: [\"**/hidden*\"], decide: deny, because: \"it is private\" }\n"
        "  - { name: ask-careful, tool: careful, decide: ask }\n---\n");
    put("a.txt", "one\n");
    put(".harness/tools/careful.md", "---\nsafety:\n  read_only: true\n---\nA program supplies it.\n");
    put(".harness/tools/greet.md", "---\nparameters:\n  name: { type: string, required: true }\nscript: |\n  def run(args):\n      return \"hello, \" + args[\"name\"]\n---\nGreets.\n");
    put(".harness/tools/declared.md", "---\nparameters:\n  n: { type: integer, required: true }\nsafety:\n  read_only: true\n---\nHas no script.\n");
    return 0;
}

static int remove_project(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command);
}

static Harness *open_it(HarnessOnEvent *on_event, HarnessOnConfirm *on_confirm, void *user) {
    HarnessConfig config = { .size = sizeof config, .dir = dir, .state = "", .on_event = on_event, .on_confirm = on_confirm, .user = user, .trust = dir };
    Harness *h = NULL;
    HarnessError err = { 0 };
    if (!harness_open(&config, &h, &err)) print_error("%s: %s\n", err.kind, err.message);
    assert_non_null(h);
    return h;
}

static void gives(HarnessResult *r, const char *value) {
    if (!harness_result_ok(r)) print_error("%s\n", harness_result_error(r));
    assert_true(harness_result_ok(r));
    assert_null(harness_result_error(r));
    assert_null(harness_result_step(r));
    assert_string_equal(harness_result_value(r), value);
    harness_result_free(r);
}

static void fails(HarnessResult *r, const char *step, const char *part) {
    assert_false(harness_result_ok(r));
    if (!strstr(harness_result_error(r), part)) print_error("%s\n", harness_result_error(r));
    assert_non_null(strstr(harness_result_error(r), part));
    assert_string_equal(harness_result_step(r), step);
    assert_non_null(strstr(harness_result_json(r), "\"is_error\":true"));
    harness_result_free(r);
}

/* ---- opening ---- */

static void opening(void **state) {
    (void)state;
    Harness *h = NULL;
    HarnessError err = { 0 };
    assert_false(harness_open(&(HarnessConfig){ .dir = "/does/not/exist", .state = "" }, &h, &err));
    assert_null(h);
    assert_true(err.message[0] != 0 && err.kind[0] != 0);
    assert_false(harness_open(&(HarnessConfig){ .dir = "/does/not/exist", .state = "" }, &h, NULL));
    put(".harness/tools/bad.md", "---\nscript: |\n  def run(args:\n---\nBroken.\n");
    put(".harness/tools/worse.md", "---\nparameters: 5\n---\nBroken.\n");
    assert_false(harness_open(&(HarnessConfig){ .dir = dir, .state = "" }, &h, &err));
    assert_string_equal(err.kind, "config");
    assert_non_null(strstr(err.message, "bad.md"));
    assert_non_null(strstr(err.message, "worse.md"));
    assert_non_null(strchr(err.message, '\n'));
    char path[128];
    snprintf(path, sizeof path, "%s/.harness/tools/bad.md", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/.harness/tools/worse.md", dir);
    unlink(path);
    /* It requests a secret and more calls, so opening it needs consent. */
    assert_false(harness_open(&(HarnessConfig){ .dir = dir, .state = "" }, &h, &err));
    assert_string_equal(err.kind, "policy");
    assert_non_null(strstr(err.message, "not trusted"));
    assert_false(harness_open(&(HarnessConfig){ .dir = dir, .state = "", .trust = "1" }, &h, &err));
    assert_string_equal(err.kind, "config");
    assert_false(harness_open(&(HarnessConfig){ .dir = dir, .state = "", .trust = "/usr" }, &h, &err));
    assert_string_equal(err.kind, "policy");
    h = open_it(NULL, NULL, NULL);
    harness_close(h);
    harness_close(NULL);
    assert_string_equal(harness_version(), "0.1.0");
}

static void calling(void **state) {
    (void)state;
    Harness *h = open_it(NULL, NULL, NULL);
    gives(harness_call(h, "greet", "{\"name\":\"you\"}", NULL), "\"hello, you\"");
    gives(harness_call(h, "read", "{\"path\":\"a.txt\"}", NULL), "\"     1\\tone\\n\"");
    fails(harness_call(h, "greet", NULL, NULL), "validate", "name");
    fails(harness_call(h, "greet", "{", NULL), "parse", "json");
    fails(harness_call(h, "greet", "", NULL), "parse", "arguments: expected a JSON object, got empty text (send {} for none)");
    fails(harness_call(h, "gret", "{}", NULL), "resolve", "did you mean \"greet\"?");
    fails(harness_call(h, NULL, NULL, NULL), "resolve", "unknown tool");
    fails(harness_call(h, "\xff\xfe", NULL, NULL), "resolve", "unknown tool");
    fails(harness_call(h, "declared", "{\"n\":1}", NULL), "execute", "has no implementation");
    fails(harness_call(h, "read", "{\"path\":\"/etc/shadow\"}", NULL), "execute", "outside the workspace");
    fails(harness_call(h, "write", "{\"path\":\".env\",\"content\":\"\"}", NULL), "confirm", "needs confirmation");
    HarnessResult *r = harness_call(h, "greet", "{\"name\":\"x\"}", NULL);
    harness_close(h);
    assert_string_equal(harness_result_text(r), "hello, x");       /* a result outlives its project */
    harness_result_free(r);
    harness_result_free(NULL);
}

/* A space's blockedTools apply to programs too, in addition to harness.md. */
static void blocked_by_a_space(void **state) {
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/agent", dir);
    mkdir(path, 0755);
    put("agent/config.md", "---\nid: ops\nblockedTools: [greet, read]\n---\n");
    Harness *h = open_it(NULL, NULL, NULL);
    fails(harness_call(h, "greet", "{\"name\":\"you\"}", NULL), "policy", "blockedTools of agent/config.md: greet");
    fails(harness_call(h, "read", "{\"path\":\"a.txt\"}", NULL), "policy", "blockedTools of agent/config.md: read");
    char *all = harness_tools(h);
    assert_null(strstr(all, "\"name\":\"greet\""));
    assert_non_null(strstr(all, "\"name\":\"write\""));
    harness_free(all);
    harness_close(h);
    snprintf(path, sizeof path, "%s/agent/config.md", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/agent", dir);
    rmdir(path);
}

static void listing(void **state) {
    (void)state;
    Harness *h = open_it(NULL, NULL, NULL);
    char *all = harness_tools(h), *one = harness_tool(h, "greet");
    assert_non_null(strstr(all, "\"name\":\"greet\""));
    assert_non_null(strstr(all, "\"name\":\"bash\""));
    assert_null(strstr(all, "\"name\":\"artifact_read\""));
    assert_int_equal(strncmp(one, "{\"name\":\"greet\",\"title\":\"greet\",\"description\":\"Greets.\",\"kind\":\"starlark\",", 70), 0);
    assert_null(harness_tool(h, "none"));
    assert_null(harness_tool(h, NULL));
    harness_free(all);
    harness_free(one);
    harness_free(NULL);
    harness_close(h);
}

/* ---- native tools ---- */

static void echo(void *user, HarnessCall *c) {
    (void)user;
    char text[512];
    snprintf(text, sizeof text, "{\"args\":%s,\"injected\":%s,\"id\":%d}", harness_call_arguments(c), harness_call_injected(c), harness_call_id(c)[0] != 0);
    assert_true(harness_call_return(c, text));
}

static void answer_oddly(void *user, HarnessCall *c) {
    switch (*(int *)user) {
    case 0: break;                                                   /* returns no value */
    case 1: harness_call_fail(c, "it broke \xff"); break;
    case 2: assert_false(harness_call_return(c, "{not json")); break;
    case 3: harness_call_fail(c, "no"); harness_call_return(c, "1"); break;
    case 4: assert_false(harness_call_return(c, NULL)); harness_call_fail(c, NULL); break;
    default: harness_call_return(c, "{\"error\":\"said by the value\"}");
    }
}

static bool add(Harness *h, const char *name, HarnessTool *run, void *user, HarnessError *err) {
    return harness_register(h, &(HarnessToolSpec){ .name = name, .description = name, .run = run, .user = user }, err);
}

static void native_tools(void **state) {
    (void)state;
    Harness *h = open_it(NULL, NULL, NULL);
    HarnessError err = { 0 };
    int how = 0;
    setenv("API_TEST_TOKEN", "very-secret", 1);
    HarnessToolSpec spec = { .size = sizeof spec, .name = "echo", .description = "Echoes.", .run = echo, .injected = "[\"depth\",\"secrets.TOKEN\"]",
                             .parameters = "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\",\"default\":7}},\"additionalProperties\":false}",
                             .safety = "{\"read_only\":true}" };
    if (!harness_register(h, &spec, &err)) print_error("%s\n", err.message);
    HarnessResult *r = harness_call(h, "echo", NULL, NULL);
    if (!harness_result_ok(r)) print_error("%s\n", harness_result_error(r));
    assert_true(harness_result_ok(r));
    assert_non_null(strstr(harness_result_value(r), "{\"args\":{\"x\":7},\"injected\":{\"depth\":0,\"secrets\":{\"TOKEN\":"));
    assert_null(strstr(harness_result_json(r), "very-secret"));      /* only the tool saw it */
    harness_result_free(r);
    fails(harness_call(h, "echo", "{\"x\":\"7\"}", NULL), "validate", "integer");
    assert_true(add(h, "odd", answer_oddly, &how, &err));
    gives(harness_call(h, "odd", NULL, NULL), "null");
    how = 1, fails(harness_call(h, "odd", "{\"n\":1}", NULL), "execute", "it broke \xef\xbf\xbd");
    how = 2, gives(harness_call(h, "odd", "{\"n\":2}", NULL), "null");
    how = 3, gives(harness_call(h, "odd", "{\"n\":3}", NULL), "1");
    how = 4, fails(harness_call(h, "odd", "{\"n\":4}", NULL), "execute", "failed");
    how = 5, fails(harness_call(h, "odd", "{\"n\":5}", NULL), "execute", "said by the value");
    assert_true(add(h, "declared", echo, NULL, &err));               /* implements the project's own definition */
    fails(harness_call(h, "declared", "{\"n\":\"x\"}", NULL), "validate", "integer");
    gives(harness_call(h, "declared", "{\"n\":1}", NULL), "{\"args\":{\"n\":1},\"injected\":{},\"id\":1}");
    harness_close(h);
}

static void bad_registrations(void **state) {
    (void)state;
    Harness *h = open_it(NULL, NULL, NULL);
    HarnessError err;
    const struct { HarnessToolSpec spec; const char *part; } rows[] = {
        { { .name = "x" }, "name and a function" },
        { { .run = echo }, "name and a function" },
        { { .name = "greet", .run = echo }, "more than once" },
        { { .name = "read", .run = echo }, "" },
        { { .name = "has space", .run = echo }, "" },
        { { .name = "", .run = echo }, "" },
        { { .name = "x", .run = echo, .parameters = "{" }, "parameters" },
        { { .name = "x", .run = echo, .parameters = "{\"type\":\"objct\"}" }, "" },
        { { .name = "x", .run = echo, .output_schema = "5" }, "" },
        { { .name = "x", .run = echo, .injected = "[\"no_such\"]" }, "" },
        { { .name = "x", .run = echo, .timeout_ms = -1 }, "timeout_ms" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err = (HarnessError){ 0 };
        if (harness_register(h, &rows[i].spec, &err) || !strstr(err.message, rows[i].part)) print_error("row %zu: %s\n", i, err.message), fail();
        assert_true(err.message[0] != 0);
        assert_false(harness_register(h, &rows[i].spec, NULL));
    }
    assert_true(add(h, "x", echo, NULL, &err));
    assert_false(add(h, "x", echo, NULL, &err));
    harness_close(h);
}

/* ---- one tool calls another ---- */

static void nested(void *user, HarnessCall *c) {
    HarnessResult *r = harness_call(user, "inner", NULL, NULL);      /* both mutate: it must not wait for its caller */
    harness_call_return(c, harness_result_value(r));
    harness_result_free(r);
}

static void endless(void *user, HarnessCall *c) {
    HarnessResult *r = harness_call(user, "endless", NULL, NULL);
    harness_call_return(c, harness_result_value(r));
    harness_result_free(r);
}

static void calls_inside(void **state) {
    (void)state;
    Harness *h = open_it(NULL, NULL, NULL);
    HarnessError err;
    assert_true(add(h, "outer", nested, h, &err) && add(h, "inner", echo, NULL, &err) && add(h, "endless", endless, h, &err));
    gives(harness_call(h, "outer", NULL, NULL), "{\"args\":{},\"injected\":{},\"id\":1}");
    fails(harness_call(h, "endless", NULL, NULL), "execute", "max_call_depth");
    harness_close(h);
}

/* ---- cancellation ---- */

static void linger(void *user, HarnessCall *c) {
    (void)user;
    struct pollfd p = { .fd = harness_call_cancel_fd(c), .events = POLLIN };
    assert_int_equal(p.fd, harness_call_cancel_fd(c));
    if (poll(&p, 1, 30000) == 0) harness_call_return(c, "\"never told\"");
    assert_true(harness_call_cancelled(c));
}

static void *fire_soon(void *token) {
    usleep(30000);
    harness_cancel_fire(token);
    return NULL;
}

static void cancelling(void **state) {
    (void)state;
    Harness *h = open_it(NULL, NULL, NULL);
    HarnessError err;
    pthread_t thread;
    assert_true(add(h, "linger", linger, NULL, &err));
    assert_true(harness_register(h, &(HarnessToolSpec){ .name = "short", .description = "d", .run = linger, .timeout_ms = 50 }, &err));
    HarnessCancel *c = harness_cancel_new(0);
    pthread_create(&thread, NULL, fire_soon, c);
    fails(harness_call(h, "linger", NULL, c), "execute", "cancelled");
    pthread_join(thread, NULL);
    fails(harness_call(h, "greet", "{\"name\":\"x\"}", c), "limits", "cancelled");     /* a fired token stays fired */
    harness_cancel_free(c);
    c = harness_cancel_new(50);
    fails(harness_call(h, "linger", "{\"n\":1}", c), "execute", "timed out");
    fails(harness_call(h, "greet", "{\"name\":\"x\"}", c), "limits", "timed out");
    harness_cancel_free(c);
    fails(harness_call(h, "short", NULL, NULL), "execute", "timed out");
    c = harness_cancel_new(100);
    fails(harness_call(h, "bash", "{\"command\":\"sleep 20\"}", c), "execute", "");
    harness_cancel_free(c);
    c = harness_cancel_new(INT64_MAX);
    gives(harness_call(h, "greet", "{\"name\":\"x\"}", c), "\"hello, x\"");
    harness_cancel_free(c);
    harness_cancel_free(NULL);
    harness_close(h);
}

/* ---- events, confirmation, runs ---- */

typedef struct Heard { pthread_mutex_t lock; char types[4096]; int n, inside; char run[80]; HarnessAnswer answer; char asked[256]; } Heard;

static void hear(void *user, const HarnessEvent *e) {
    Heard *h = user;
    assert_int_equal(h->inside++, 0);                                /* never concurrent */
    h->n++;
    if (strlen(h->types) + strlen(e->type) + 2 < sizeof h->types) strcat(strcat(h->types, e->type), " ");
    snprintf(h->run, sizeof h->run, "%s", e->run);
    assert_int_equal(e->data[0], '{');
    h->inside--;
}

static HarnessAnswer asked(void *user, const char *tool, const char *why, const char *shown) {
    Heard *h = user;
    snprintf(h->asked, sizeof h->asked, "%s|%s|%s", tool, why, shown);
    return h->answer;
}

static void tell(void *user, HarnessCall *c) {
    (void)user;
    assert_true(harness_call_emit(c, "saved", "{\"n\":1}"));
    assert_false(harness_call_emit(c, "Bad Name", "{}"));
    assert_false(harness_call_emit(c, "saved", "{"));
    assert_false(harness_call_emit(c, NULL, "{}"));
    harness_call_progress(c, 1, 2, "half");
    harness_call_progress(c, 1, 0, NULL);
}

static void events_and_runs(void **state) {
    (void)state;
    Heard heard = { .answer = HARNESS_NO };
    Harness *h = open_it(hear, asked, &heard);
    HarnessError err;
    HarnessRun *run = NULL;
    assert_true(add(h, "tell", tell, NULL, &err));
    assert_false(harness_run_start(h, "bad id", &run, &err));
    assert_true(harness_run_start(h, "my-run", &run, &err));
    assert_string_equal(harness_run_id(run), "my-run");
    gives(harness_call_in(run, "tell", NULL, NULL), "null");
    assert_string_equal(heard.run, "my-run");
    assert_non_null(strstr(heard.types, "run.started tool.started tool.executing custom.saved tool.progress tool.progress tool.completed "));
    fails(harness_call_in(run, "write", "{\"path\":\".env\",\"content\":\"A\\n\"}", NULL), "confirm", "the user declined write");
    assert_non_null(strstr(heard.asked, "write|sensitive name: .env|"));
    assert_non_null(strstr(heard.asked, "+A"));
    heard.answer = (HarnessAnswer)77;                                /* not a valid answer: counts as no */
    fails(harness_call_in(run, "write", "{\"path\":\".env\",\"content\":\"A\\n\"}", NULL), "confirm", "the user declined write");
    heard.answer = HARNESS_ONCE;
    HarnessResult *r = harness_call_in(run, "write", "{\"path\":\".env\",\"content\":\"A\\n\"}", NULL);
    assert_true(harness_result_ok(r));
    harness_result_free(r);
    harness_run_end(run);
    harness_run_end(NULL);
    assert_non_null(strstr(heard.types, "run.ended"));
    assert_true(harness_run_start(h, NULL, &run, &err));             /* left open: harness_close ends it */
    assert_int_equal(strlen(harness_run_id(run)), 36);
    harness_close(h);
}

/* ---- threads ---- */

typedef struct Load { Harness *h; int number; HarnessRun *shared; HarnessCancel *token; } Load;

static void quick(void *user, HarnessCall *c) {
    (void)user;
    harness_call_emit(c, "quick", harness_call_arguments(c));
    harness_call_return(c, harness_call_arguments(c));
}

static void *work(void *arg) {
    Load *l = arg;
    char name[32], text[64];
    HarnessError err;
    HarnessRun *own = NULL;
    snprintf(name, sizeof name, "tool_%d", l->number);
    snprintf(text, sizeof text, "{\"n\":%d}", l->number);
    assert_true(harness_run_start(l->h, NULL, &own, &err));
    for (int i = 0; i < 12; i++) {
        if (i == 4) assert_true(add(l->h, name, quick, NULL, &err));
        if (i == 6 && l->number == 0) assert_true(add(l->h, "declared", quick, NULL, &err));
        HarnessRun *run = i % 2 ? own : l->shared;
        HarnessResult *r = i > 4 ? harness_call_in(run, name, text, NULL) : harness_call(l->h, "greet", "{\"name\":\"x\"}", NULL);
        assert_true(harness_result_ok(r));
        harness_result_free(r);
        harness_result_free(harness_call_in(run, "declared", text, NULL));       /* it may or may not be implemented yet */
        harness_free(harness_tools(l->h));
    }
    HarnessResult *r = harness_call_in(own, "linger", NULL, l->token);           /* one token ends all of them */
    assert_false(harness_result_ok(r));
    harness_result_free(r);
    harness_run_end(own);
    return NULL;
}

static void many_threads(void **state) {
    (void)state;
    Heard heard = { 0 };
    Harness *h = open_it(hear, NULL, &heard);
    HarnessError err;
    HarnessRun *shared = NULL;
    HarnessCancel *token = harness_cancel_new(0);
    pthread_t threads[THREADS];
    Load loads[THREADS];
    assert_true(add(h, "linger", linger, NULL, &err) && harness_run_start(h, NULL, &shared, &err));
    for (int i = 0; i < THREADS; i++) {
        loads[i] = (Load){ h, i, shared, token };
        pthread_create(&threads[i], NULL, work, &loads[i]);
    }
    usleep(200000);
    harness_cancel_fire(token);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    harness_cancel_free(token);
    assert_true(heard.n > THREADS * 12);
    harness_close(h);
}

/* ---- agents ---- */

typedef struct Parts { char order[512]; bool data; int completions; } Parts;

static void hear_parts(void *user, const HarnessEvent *event) {
    Parts *h = user;
    if (strstr(event->data, "iVBORw0KGgo")) h->data = true;
    if (strcmp(event->type, "completion.completed") != 0 || h->completions++) return;
    const char *parts = strstr(event->data, "\"parts\":");
    snprintf(h->order, sizeof h->order, "%s", parts ? parts : "");
}

/* A model's message through the C interface: its parts in order in the events, images by their hash, and the blocks of a call. */
static void message_parts(void **state) {
    (void)state;
    Parts heard = { 0 };
    char path[128];
    snprintf(path, sizeof path, "%s/.harness/agents", dir);
    mkdir(path, 0755);
    put(".harness/agents/kid.md", "---\ndescription: Counts.\nmodel: kid\n---\nKid.\n");
    put(".harness/tools/snap.md", "---\nscript: |\n  def run(args):\n      return content.image(\"iVBORw0KGgoA\", \"image/png\")\n---\nSnaps.\n");
    put("harness.md", "---\nmodel: { provider: script, name: kid, script: kid.star }\n---\n");
    put("kid.star", "def reply(messages, tools):\n"
                    "    if messages[-1][\"role\"] == \"user\":\n"
                    "        return {\"parts\": [{\"type\": \"reasoning\", \"text\": \"Hm.\"}, {\"type\": \"text\", \"text\": \"A\"}, {\"type\": \"call\", \"name\": \"snap\"}, {\"type\": \"text\", \"text\": \"B\"}]}\n"
                    "    return json.encode([p[\"type\"] for m in messages for p in m[\"parts\"]])\n");
    Harness *h = open_it(hear_parts, NULL, &heard);
    HarnessResult *r = harness_call(h, "delegate", "{\"agent\":\"kid\",\"task\":\"go\"}", NULL);
    assert_true(harness_result_ok(r));
    assert_non_null(strstr(harness_result_value(r),
        "[\\\"text\\\",\\\"text\\\",\\\"reasoning\\\",\\\"text\\\",\\\"call\\\",\\\"text\\\",\\\"result\\\",\\\"image\\\"]"));
    harness_result_free(r);
    const char *order = "\"parts\":[{\"type\":\"reasoning\",\"bytes\":3},{\"type\":\"text\",\"bytes\":1},{\"type\":\"call\",\"id\":\"call_1\"},{\"type\":\"text\",\"bytes\":1}]";
    assert_int_equal(strncmp(heard.order, order, strlen(order)), 0);
    assert_false(heard.data);
    r = harness_call(h, "snap", NULL, NULL);
    assert_non_null(strstr(harness_result_json(r), "\"content\":[{\"type\":\"image\",\"data\":\"iVBORw0KGgoA\",\"mimeType\":\"image/png\"}]"));
    harness_result_free(r);
    harness_close(h);
}

static HarnessAnswer note_why(void *user, const char *tool, const char *why, const char *shown) {
    (void)tool, (void)shown;
    snprintf(user, 128, "%s", why);
    return HARNESS_ONCE;
}

/* Rules of harness.md hold for calls and for native tools of a program. */
static void rules(void **state) {
    (void)state;
    char why[128] = "";
    Harness *h = open_it(NULL, note_why, why);
    HarnessResult *r = harness_call(h, "read", "{\"path\":\"x/../hidden.txt\"}", NULL);
    assert_string_equal(harness_result_error(r), "tool \"read\" is denied by rule \"no-hidden\" (harness.md:8): it is private");
    fails(r, "policy", "no-hidden");
    assert_true(add(h, "careful", echo, NULL, NULL));
    r = harness_call(h, "careful", "{}", NULL);
    assert_true(harness_result_ok(r));
    assert_string_equal(why, "rule \"ask-careful\" of harness.md");
    harness_result_free(r);
    harness_close(h);
    h = open_it(NULL, NULL, NULL);
    assert_true(add(h, "careful", echo, NULL, NULL));
    fails(harness_call(h, "careful", "{}", NULL), "confirm", "ask-careful");
    harness_close(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening), cmocka_unit_test(calling), cmocka_unit_test(blocked_by_a_space), cmocka_unit_test(listing), cmocka_unit_test(rules),
            cmocka_unit_test(native_tools), cmocka_unit_test(bad_registrations),
        cmocka_unit_test(calls_inside), cmocka_unit_test(cancelling), cmocka_unit_test(events_and_runs), cmocka_unit_test(many_threads),
        cmocka_unit_test(message_parts),             /* last: it changes the project */
    };
    return cmocka_run_group_tests(tests, make_project, remove_project);
}
