/* HostCalls, the log, runtime, content, and the names available to hooks. */
#include "script_unit.h"
#include "artifact/host_names.h"
#include "script/content.h"
#include "value/json.h"

/* ---- names ---- */

/* Writes every name, its members and whether it can be called: "fs: read write …" */
/* Functions that an implementation must have. Of the callable modules, `set` and `hash` are functions of the language. */
static size_t host_functions(void) {
    return 0
#define VALUE(name)
#define MODULE(module, who)
#define MEMBER(module, name, who) + 1
#define FLAT(name, who) + 1
#define CALLABLE(module) + (strcmp(#module, "log") == 0)
#include "artifact/host_names.def"
#undef VALUE
#undef MODULE
#undef MEMBER
#undef FLAT
#undef CALLABLE
    ;
}

static void describe(const Dict *names, Buf *out) {
    Entry *e, *m;
    for (uint32_t i = 0; dict_next(names, &i, &e);) {
        buf_add_fmt(out, STR_FMT "%s:", STR_ARG(value_str(e->key)), vm_is_callable(e->value) ? "()" : native_is_slot(e->value) ? "=" : "");
        if (native_is_module(e->value))
            for (uint32_t k = 0; dict_next(((NativeModule *)value_object(e->value))->members, &k, &m);) buf_add_fmt(out, " " STR_FMT,
                STR_ARG(value_str(m->key)));
        buf_add_char(out, '\n');
    }
}

static void same_names(const Dict *a, const Dict *b) {
    Buf x = { 0 }, y = { 0 };
    describe(a, &x);
    describe(b, &y);
    assert_string_equal(x.at, y.at);
    buf_clear(&x);
    buf_clear(&y);
}

static void test_names(void **state) {
    (void)state;
    ScriptUnit u;
    script_begin(&u);
    Heap *h = heap_new(0);
    HostNames listed;
    assert_true(host_names_make(h, NULL, &listed, NULL));
    same_names(listed.tools, u.tools);
    same_names(listed.hooks, u.hooks);
    assert_null(dict_find_str(u.hooks, STR("exec")));
    assert_null(dict_find_str(u.hooks, STR("meta")));
    assert_non_null(dict_find_str(u.hooks, STR("runtime")));
    heap_free(h);
    script_end(&u);
}

static void each_native(Value v, Str name, size_t *count) {
    if (native_is_module(v) || native_is_slot(v)) return;
    const NativeDef *def = ((Native *)value_object(v))->def;
    if (!(def->flags & NATIVE_HOST)) fail_msg(STR_FMT " may run at load time", STR_ARG(name));
    if (!def->doc || !def->doc[0]) fail_msg("%s has no line for the reference", def->name);
    ++*count;
}

/* Every function has a description, is not callable at load time, and is in the list of names. */
static void test_tables(void **state) {
    (void)state;
    ScriptUnit u;
    script_begin(&u);
    size_t count = 0;
    Entry *e, *m;
    for (uint32_t i = 0; dict_next(u.tools, &i, &e);) {
        Str name = value_str(e->key);
        if (str_eq(name, STR("json")) || str_eq(name, STR("math"))) continue;
        each_native(e->value, name, &count);
        if (!native_is_module(e->value)) continue;
        for (uint32_t k = 0; dict_next(((NativeModule *)value_object(e->value))->members, &k, &m);) each_native(m->value, value_str(m->key), &count);
        if (str_eq(name, STR("log"))) count++;             /* a callable module */
    }
    assert_int_equal(count, host_functions());
    script_end(&u);
}

static const char *const load_time[] = { "x = fs.read('a')", "x = uuid.v4()", "x = re.match('a', 'a')", "x = env('A')", "log('x')", "x = set.new()" };

static void test_load_time(void **state) {
    (void)state;
    ScriptUnit u;
    script_begin(&u);
    for (size_t i = 0; i < sizeof load_time / sizeof *load_time; i++) {
        Buf text = { 0 };
        buf_add_fmt(&text, "%s\ndef run():\n  return 1\n", load_time[i]);
        const char *got = script_run_text(&u, buf_str(&text));
        if (!strstr(got, "host functions are not available at load time")) fail_msg("%s: %s", load_time[i], got);
        buf_clear(&text);
    }
    assert_string_equal(script_run_text(&u, STR("x = (set([1]), json.encode([1]), hash('a') != 0)\ndef run():\n  return x\n")), "(set([1]), \"[1]\", True)");
    script_end(&u);
}

/* ---- runtime ---- */

static const ScriptCase runtime_cases[] = {
    { "type(runtime)", "\"dict\"" }, { "runtime['run_id']", "\"r1\"" }, { "runtime.get('depth'), runtime.get('no', 3)", "(2, 3)" },
    { "[k for k in runtime]", "[\"run_id\", \"depth\"]" }, { "sorted(runtime.items())", "[(\"depth\", 2), (\"run_id\", \"r1\")]" },
    { "runtime['x'] = 1\nreturn 1", "error: cannot insert into frozen hash table" }, { "runtime.clear()", "error: clear: cannot clear frozen hash table" },
    { "'run_id' in runtime, len(runtime), dict(runtime)", "(True, 2, {\"run_id\": \"r1\", \"depth\": 2})" },
        { "runtime['no']", "error: key \"no\" not in dict" },
    { "(lambda: runtime['depth'])()", "2" }, { "[runtime, (runtime, 1)]", "[{\"run_id\": \"r1\", \"depth\": 2}, ({\"run_id\": \"r1\", \"depth\": 2}, 1)]" },
};

static void test_runtime(void **state) {
    (void)state;
    ScriptUnit u;
    script_begin(&u);
    assert_string_equal(script_run(&u, "runtime"), "{}");
    assert_string_equal(script_run(&u, "runtime['x'] = 1\nreturn 1"), "error: cannot insert into frozen hash table");
    Heap *h = heap_new(0);
    Value v;
    assert_true(json_read(h, STR("{\"run_id\": \"r1\", \"depth\": 2}"), &(JsonRead){ 0 }, &v, NULL));
    heap_freeze_all(h);
    u.host.runtime = v;
    SCRIPT_CASES(&u, runtime_cases);
    u.host.hook = true;
    assert_string_equal(script_run(&u, "runtime['depth']"), "2");
    assert_string_equal(script_run_text(&u, STR("x = runtime\ndef run():\n  return x\n")), "error: runtime is not available at load time");
    assert_string_equal(script_run_text(&u, STR("x = [runtime['a']]\ndef run():\n  return x\n")), "error: runtime is not available at load time");
    assert_string_equal(script_run_text(&u, STR("def f(a=runtime):\n  return a\ndef run():\n  return f()\n")), "error: runtime is not available at load time");
    script_end(&u);
    heap_free(h);
}

/* ---- HostCalls ---- */

typedef struct { Buf said; } Record;

static void say(Host *h, const char *what, Value v) {
    Record *r = h->call;
    buf_add_fmt(&r->said, "%s ", what);
    if (!value_is_gone(v)) assert_true(json_write(&r->said, v, &(JsonWrite){ 0 }, NULL));
    buf_add_char(&r->said, ';');
}

static bool answer(Heap *heap, Value *out, Error *err) {
    String *s = string_new(heap, STR("done"), err);
    return s && (*out = value_from_object(s), true);
}

static bool call_tool(Host *h, Str name, Value args, int64_t timeout_ms, Heap *heap, Value *out, Error *err) {
    Record *r = h->call;
    buf_add_fmt(&r->said, "call " STR_FMT " %lld ", STR_ARG(name), (long long)timeout_ms);
    say(h, "", args);
    return answer(heap, out, err);
}
static bool list_tools(Host *h, Str pattern, Heap *heap, Value *out, Error *err) {
    buf_add_fmt(&((Record *)h->call)->said, "list " STR_FMT ";", STR_ARG(pattern));
    return answer(heap, out, err);
}
static bool register_tool(Host *h, Value d, Error *err) { return (void)err, say(h, "tool", d), true; }
static bool register_hook(Host *h, Value d, Error *err) { return (void)err, say(h, "hook", d), true; }
static bool register_agent(Host *h, Value d, Error *err) { return say(h, "agent", d), error_set(err, ERR_LIMIT, "too many agents"); }
static bool delegate(Host *h, Value d, Heap *heap, Value *out, Error *err) { return say(h, "delegate", d), answer(heap, out, err); }
static bool complete(Host *h, Value d, Heap *heap, Value *out, Error *err) { return say(h, "complete", d), answer(heap, out, err); }
static bool ask(Host *h, HostAsk *asks, size_t n, Heap *heap, Error *err) {
    Record *r = h->call;
    for (size_t i = 0; i < n; i++) {
        HostAsk *a = &asks[i];
        if (a->key.n) buf_add_fmt(&r->said, "[" STR_FMT "] ", STR_ARG(a->key));
        if (a->kind == HOST_ASK_FORM) buf_add_fmt(&r->said, "ask " STR_FMT " ", STR_ARG(a->message)), say(h, "", a->schema);
        else if (a->kind == HOST_ASK_SAMPLE) buf_add_fmt(&r->said, "sample %lld", (long long)a->max_tokens), say(h, "", a->messages);
        else buf_add(&r->said, STR("roots;"));
        if (!answer(heap, &a->answer, err)) return false;
    }
    return true;
}
static bool progress(Host *h, Value done, Value total, Str message, Error *err) {
    (void)err;
    say(h, "done", done);
    say(h, "total", total);
    return buf_add_fmt(&((Record *)h->call)->said, STR_FMT ";", STR_ARG(message)), true;
}
static bool task(Host *h, HostTask what, Str id, int64_t timeout_ms, Heap *heap, Value *out, Error *err) {
    buf_add_fmt(&((Record *)h->call)->said, "task %d " STR_FMT " %lld;", (int)what, STR_ARG(id), (long long)timeout_ms);
    return answer(heap, out, err);
}
static bool emit(Host *h, Str name, Value payload, Error *err) {
    (void)err;
    buf_add_fmt(&((Record *)h->call)->said, "emit " STR_FMT " ", STR_ARG(name));
    return say(h, "", payload), true;
}
static bool log_line(Host *h, LogLevel level, Str message, Error *err) {
    (void)err;
    return buf_add_fmt(&((Record *)h->call)->said, "log %d " STR_FMT ";", (int)level, STR_ARG(message)), true;
}

static const struct { const char *body, *want, *said; } calls[] = {
    { "meta.call_tool('t', {'a': 1})", "\"done\"", "call t 0  {\"a\":1};" }, { "meta.call_tool('t', timeout_seconds=0.0001)", "\"done\"", "call t 1  {};" },
    { "meta.call_tool('t', {}, -1)", "error: meta.call_tool: for parameter timeout_seconds: must be between 0 and 1000000", "" },
    { "meta.list_tools('a*')", "\"done\"", "list a*;" }, { "meta.list_tools()", "\"done\"", "list ;" },
    { "meta.tool_register('n', 'd', {}, 's')", "None", "tool {\"name\":\"n\",\"description\":\"d\",\"parameters\":{},\"script\":\"s\"};" },
    { "meta.register_hook('n', 'tool.pre', 's', priority=5)", "None", "hook {\"name\":\"n\",\"event\":\"tool.pre\",\"script\":\"s\",\"priority\":5};" },
    { "meta.agent_register(name='a', prompt='p')", "error: meta.agent_register: too many agents", "agent {\"name\":\"a\",\"prompt\":\"p\"};" },
    { "meta.register_agent(prompt='p')", "error: meta.register_agent: missing argument for name", "" },
        { "meta.agent_register('a')", "error: meta.agent_register: takes keyword arguments only", "" },
    { "delegate(agent='a', task='t', tools=['x'])", "\"done\"", "delegate {\"agent\":\"a\",\"task\":\"t\",\"tools\":[\"x\"]};" },
    { "delegate({'agent': 'a', 'task': 't'})", "\"done\"", "delegate {\"agent\":\"a\",\"task\":\"t\"};" },
    { "delegate(agent='a')", "error: delegate: missing argument for task", "" },
        { "delegate(agent=1, task='t')", "error: delegate: for parameter agent: got int, want string", "" },
    { "complete('hi')", "\"done\"", "complete {\"prompt\":\"hi\",\"max_tokens\":1024,\"model\":null};" },
    { "complete([{'role': 'user'}], 5, 'm')", "\"done\"", "complete {\"messages\":[{\"role\":\"user\"}],\"max_tokens\":5,\"model\":\"m\"};" },
    { "complete(messages=[])", "\"done\"", "complete {\"messages\":[],\"max_tokens\":1024,\"model\":null};" },
        { "complete()", "error: complete: give either a prompt or messages", "" },
    { "complete('a', max_tokens=0)", "error: complete: for parameter max_tokens: must be between 1 and 2147483647", "" },
    { "ask('name?', {'type': 'string'})", "\"done\"", "ask name?  {\"type\":\"string\"};" }, { "ask('ok?')", "\"done\"", "ask ok?  null;" },
    { "ask('ok?', None, 'k')", "\"done\"", "[k] ask ok?  null;" }, { "roots()", "\"done\"", "[roots] roots;" },
    { "ask_all({})", "{}", "" }, { "ask_all({'a': {'message': 'm'}, 'b': {'roots': True}})", "{\"a\": \"done\", \"b\": \"done\"}",
        "[a] ask m  null;[b] roots;" },
    { "ask_all({'a': {'prompt': 'p', 'max_tokens': 9}})", "{\"a\": \"done\"}", "[a] sample 9 [{\"role\":\"user\",\"content\":\"p\"}];" },
    { "ask_all({'a': {'messages': [1]}})", "{\"a\": \"done\"}", "[a] sample 1024 [1];" },
    { "ask_all({'a': 1})", "error: ask_all: request \"a\": got int, want dict", "" },
    { "ask_all({'a': {}})", "error: ask_all: request \"a\": needs one of message, prompt, messages and roots", "" },
    { "ask_all({'a': {'prompt': 1}})", "error: ask_all: request \"a\": prompt must be a string, or messages a list", "" },
    { "ask_all({'a': {'prompt': 'p', 'max_tokens': 0}})", "error: ask_all: request \"a\": max_tokens must be a positive int", "" },
    { "ask_all({'a': {'message': 'm', 'schema': 1}})", "error: ask_all: request \"a\": schema: got int, want dict", "" },
    { "ask_all({1: {}})", "error: ask_all: a key must be a string, not int", "" },
    { "ask_all({str(i): {'roots': True} for i in range(65)})", "error: ask_all: more than 64 requests", "" },
    { "progress(1, 2, 'm')", "None", "done 1;total 2;m;" }, { "progress(0.5)", "None", "done 0.5;total null;;" },
        { "progress('a')", "error: progress: for parameter done: got string, want float or int", "" },
    { "task.poll('x')", "\"done\"", "task 0 x 0;" }, { "task.await('x')", "\"done\"", "task 1 x -1;" },
        { "task.await('x', 10)", "\"done\"", "task 1 x 10;" }, { "task.cancel('x')", "\"done\"", "task 2 x 0;" },
    { "emit('e', {'a': [1]})", "None", "emit e  {\"a\":[1]};" }, { "emit('e')", "None", "emit e  null;" },
    { "log('a')", "None", "log 1 a;" }, { "log.warn([1])", "None", "log 2 [1];" }, { "log.error('e')", "None", "log 3 e;" },
        { "log.debug('d')", "None", "log 0 d;" }, { "print('p', 1)", "None", "log 1 p 1;" },
    { "env('HOME')", "\"\"", "log 2 env: HOME is not in sandbox.env_allow, so scripts cannot read it;" },
        { "env('HARNESS_TEST_YES')", "\"v\"", "" }, { "env('HARNESS_TEST_UNSET')", "\"\"", "" },
    { "[log('x' * 1000) for i in range(2000)]", "error: log: output limit of 1048576 bytes reached", NULL },
};

static void test_calls(void **state) {
    (void)state;
    ScriptUnit u;
    Record r = { 0 };
    size_t wrong = 0;
    static const Str allowed[] = { { "HARNESS_TEST_YES", 16 }, { "HARNESS_TEST_UNSET", 18 } };
    script_begin(&u);
    setenv("HARNESS_TEST_YES", "v", 1);
    u.calls = (HostCalls){ call_tool, list_tools, register_tool, register_hook, register_agent, delegate, complete, ask, progress, task,
        emit, log_line, NULL, NULL };
    u.host.call = &r;
    u.host.env_allow = (StrList){ .at = (Str *)(uintptr_t)allowed, .n = 2 };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        buf_reset(&r.said);
        const char *got = script_run(&u, calls[i].body);
        if (strcmp(got, calls[i].want) == 0 && (!calls[i].said || str_eq(buf_str(&r.said), str_from(calls[i].said)))) continue;
        print_error("%s\n  got  %s, %s\n  want %s, %s\n", calls[i].body, got, buf_str(&r.said).at, calls[i].want, calls[i].said);
        wrong++;
    }
    buf_clear(&r.said);
    script_end(&u);
    assert_int_equal(wrong, 0);
}

static const ScriptCase absent[] = {
    { "ask('a')", "error: ask is not available here" }, { "complete('a')", "error: complete is not available here" },
        { "delegate(agent='a', task='b')", "error: delegate is not available here" },
    { "emit('a')", "error: emit is not available here" }, { "progress(1)", "error: progress is not available here" },
        { "task.poll('a')", "error: task.poll is not available here" },
    { "meta.call_tool('a')", "error: meta.call_tool is not available here" }, { "meta.list_tools()", "error: meta.list_tools is not available here" },
    { "meta.tool_register('a', 'b', {}, 'c')", "error: meta.tool_register is not available here" },
        { "meta.register_agent(name='a')", "error: meta.register_agent is not available here" },
    { "exec.run('true')", "error: exec.run: not available here" }, { "http.get('http://a')", "error: http.get: not available here" },
        { "fs.read('a')", "error: fs.read: not available here" },
    { "log('a')", "None" },
};

static const ScriptCase decisions[] = {
    { "allow()", "{\"action\": \"allow\"}" }, { "block('no')", "{\"action\": \"block\", \"reason\": \"no\"}" },
        { "block()", "{\"action\": \"block\", \"reason\": \"\"}" },
    { "modify({'a': 1})", "{\"action\": \"modify\", \"payload\": {\"a\": 1}}" }, { "modify(1)", "error: modify: for parameter payload: got int, want dict" },
    { "delegate({'task': 't'})", "{\"action\": \"delegate\", \"request\": {\"task\": \"t\"}}" },
        { "delegate(task='t')", "{\"action\": \"delegate\", \"request\": {\"task\": \"t\"}}" },
    { "delegate(1)", "error: delegate: for parameter 1: got int, want dict" },
};

static void test_absent(void **state) {
    (void)state;
    ScriptUnit u;
    script_begin(&u);
    SCRIPT_CASES(&u, absent);
    u.host.calls = NULL;
    SCRIPT_CASES(&u, absent);
    u.host.hook = true;
    SCRIPT_CASES(&u, decisions);
    assert_non_null(strstr(script_run(&u, "exec.run('x')"), "undefined: exec"));
    assert_non_null(strstr(script_run(&u, "meta.list_tools()"), "undefined: meta"));
    script_end(&u);
}

/* ---- content ---- */

static const ScriptCase content_cases[] = {
    { "content.text('a')", "{\"type\": \"text\", \"text\": \"a\"}" },
        { "content.image(b'\\xff', 'image/png')", "{\"type\": \"image\", \"data\": \"/w==\", \"mimeType\": \"image/png\"}" },
    { "content.audio('/w==', 'audio/wav')['data']", "\"/w==\"" }, { "content.image('no base64!', 'image/png')", "error: content.image: not base64: …" },
    { "content.resource('u:x', 't', 'text/plain')",
        "{\"type\": \"resource\", \"resource\": {\"uri\": \"u:x\", \"text\": \"t\", \"mimeType\": \"text/plain\"}}" },
    { "content.resource('u:x', blob=b'a')['resource']['blob']", "\"YQ==\"" },
        { "content.resource('u:x')", "error: content.resource: give either text or blob" },
    { "content.link('u:x', 'n')", "{\"type\": \"resource_link\", \"uri\": \"u:x\", \"name\": \"n\"}" }, { "type(content.text('a'))", "\"dict\"" },
    { "b = content.text('a')\nb['type'] = 'x'\nreturn b", "error: cannot insert into frozen hash table" },
        { "json.encode(content.text('a'))", "\"{\\\"text\\\":\\\"a\\\",\\\"type\\\":\\\"text\\\"}\"" },
};

static const struct { const char *body; bool block, blocks; } block_cases[] = {
    { "content.text('a')", true, true }, { "{'type': 'text', 'text': 'a'}", false, false }, { "dict(content.text('a'))", false, false },
        { "[content.text('a'), content.link('u:x')]", false, true },
    { "(content.text('a'),)", false, true }, { "[]", false, false }, { "[content.text('a'), 'b']", false, false }, { "'text'", false, false },
    { "cache.set('b', content.text('a'))\nreturn cache.get('b')", true, true },
        { "cache.set('b', content.text('a'))\nb = cache.get('b')\nb.pop('text')\nreturn b", false, false },
};

/* ---- deadlines ---- */

static void refuse_late(ScriptUnit *u, Value fn, size_t *count) {
    if (!value_is(fn, OBJECT_NATIVE) || !(((Native *)value_object(fn))->def->flags & NATIVE_HOST)) return;
    const char *name = ((Native *)value_object(fn))->def->name;
    Worker *w = worker_take(u->workers, &u->host, u->cancel);
    Error err = { 0 };
    Value out;
    if (vm_call(w->vm, fn, NULL, 0, &out, &err)) fail_msg("%s ran after the deadline", name);
    if (err.kind != ERR_TIMEOUT) fail_msg("%s after the deadline: %s", name, err.msg);
    worker_give(u->workers, w);
    ++*count;
}

/* Every function of host_names.def, so that a new one cannot be forgotten. */
static void test_late(void **state) {
    (void)state;
    ScriptUnit u;
    script_begin(&u);
    u.cancel = cancel_new(NULL, 1);
    size_t count = 0;
    Entry *e, *m;
    for (uint32_t i = 0; dict_next(u.tools, &i, &e);) {
        refuse_late(&u, e->value, &count);
        if (!native_is_module(e->value)) continue;
        const NativeModule *module = (const NativeModule *)value_object(e->value);
        refuse_late(&u, module->call, &count);
        for (uint32_t k = 0; dict_next(module->members, &k, &m);) refuse_late(&u, m->value, &count);
    }
    assert_int_equal(count, host_functions());
    assert_string_equal(script_run(&u, "log('x')"), "error: timed out after 0 s");
    assert_string_equal(script_run(&u, "print('x')"), "error: timed out after 0 s");
    cancel_free(u.cancel);
    script_end(&u);
}

static int emitted;

static bool emit_slowly(Host *h, Str name, Value payload, Error *err) {
    (void)h, (void)name, (void)payload, (void)err;
    Error late;
    emitted++;
    while (cancel_check(h->cancel, &late)) cancel_sleep(NULL, 1000000, &late);
    return true;
}

/* A function that returns after the deadline is the last one that the script runs. */
static void test_used_up(void **state) {
    (void)state;
    ScriptUnit u;
    script_begin(&u);
    u.calls.emit = emit_slowly;
    u.cancel = u.host.cancel = cancel_new(NULL, 20000000);
    emitted = 0;
    assert_string_equal(script_run(&u, "emit('a')\ncache.set('b', 1)\nreturn 1"), "error: timed out after 0.02 s");
    assert_int_equal(emitted, 1);
    cancel_free(u.cancel);
    u.cancel = u.host.cancel = NULL;
    assert_string_equal(script_run(&u, "cache.has('b')"), "False");
    script_end(&u);
}

static void test_content(void **state) {
    (void)state;
    ScriptUnit u;
    script_begin(&u);
    SCRIPT_CASES(&u, content_cases);
    for (size_t i = 0; i < sizeof block_cases / sizeof *block_cases; i++) {
        Heap *heap = heap_new(0);
        Buf text = { 0 };
        buf_add_fmt(&text, "def run():\n%s", strstr(block_cases[i].body, "return") ? "" : "  return ");
        Str rest = str_from(block_cases[i].body), line;
        while (str_next_line(&rest, &line)) buf_add_fmt(&text, "%s" STR_FMT "\n", strstr(block_cases[i].body, "return") ? "  " : "", STR_ARG(line));
        Module *m = script_compile(&u, heap, buf_str(&text));
        Worker *w = worker_take(u.workers, &u.host, NULL);
        Value v = VALUE_NONE;
        if (!m || !module_call(w->vm, m, STR("run"), NULL, 0, &v, &u.err)) fail_msg("%s: %s", block_cases[i].body, u.err.msg);
        if (content_is_block(v) != block_cases[i].block || content_is_blocks(v) != block_cases[i].blocks) fail_msg("%s", block_cases[i].body);
        worker_give(u.workers, w);
        module_free(m);
        heap_free(heap);
        buf_clear(&text);
    }
    script_end(&u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names), cmocka_unit_test(test_tables), cmocka_unit_test(test_load_time), cmocka_unit_test(test_runtime),
        cmocka_unit_test(test_calls), cmocka_unit_test(test_absent), cmocka_unit_test(test_content), cmocka_unit_test(test_late),
        cmocka_unit_test(test_used_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
