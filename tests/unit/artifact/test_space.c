#include "artifact/trial.h"
#include "artifact/stray.h"

static void load(Trial *t) { load_space(&t->l, STR(".")); }

static void load_tool_file(Trial *t, const char *front) {
    trial_forget(t);
    trial_put(t, "agent/tools/x.md", str_from(arena_fmt(&t->arena, "---\n%s---\n", front)));
    load(t);
}

static const char *render(Trial *t, const ToolDef *tool, const char *args) {
    Error err = { 0 };
    Value v;
    assert_true(json_read(t->project.heap, str_from(args), NULL, &v, &err));
    buf_reset(&t->text);
    if (!template_render_command(tool->command, v, &t->text, &err)) return arena_fmt(&t->arena, "refused: %s", err.msg);
    return arena_fmt(&t->arena, "%s", t->text.at ? t->text.at : "");
}

/* ---- the examples of the reference page ---- */

static void loads_deploy(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    trial_put(&t, "spaces/my-space/agent/tools/deploy.md", STR(
        "---\nid: deploy\nname: \"Deploy to Staging\"\ndescription: \"Deploys the current branch to the staging environment\"\n"
        "category: \"deployment\"\nparameters:\n  - name: branch\n    type: string\n    description: \"Git branch to deploy\"\n    required: true\n"
        "  - name: wait\n    type: boolean\n    description: \"Wait for deployment to complete\"\n    required: false\n    default: true\n"
        "command: \"bash scripts/deploy.sh {{branch}}\"\ntimeout: 300\nconfirm: true\nicon: \"rocket\"\n---\n# Deploy Tool\n\nDeploys.\n"));
    load_space(&t.l, STR("./spaces/my-space/"));
    trial_expect(&t, "");
    const ToolDef *d = trial_tool(&t, "deploy");
    assert_int_equal(d->kind, TOOL_COMMAND);
    assert_str(d->title, "Deploy to Staging");
    assert_str(d->description, "Deploys the current branch to the staging environment\n\n# Deploy Tool\n\nDeploys.");
    assert_str(d->category, "deployment");
    assert_str(d->icon, "rocket");
    assert_true(d->confirm);
    assert_int_equal(d->timeout_ms, 300000);
    assert_str(d->folder, "spaces/my-space");
    assert_str(d->origin.file, "spaces/my-space/agent/tools/deploy.md");
    assert_int_equal(d->origin.line, 2);
    assert_int_equal(d->origin.source, SOURCE_SPACE);
    assert_json(&t, d->parameters, "{\"type\":\"object\",\"properties\":{\"branch\":{\"type\":\"string\",\"description\":\"Git branch to deploy\"},"
                "\"wait\":{\"type\":\"boolean\",\"description\":\"Wait for deployment to complete\",\"default\":true}},\"required\":[\"branch\"]}");
    assert_string_equal(render(&t, d, "{\"branch\":\"main\"}"), "bash scripts/deploy.sh main");
    assert_string_equal(render(&t, d, "{\"branch\":\"a; rm -rf /\"}"), "bash scripts/deploy.sh 'a; rm -rf /'");
    assert_true(t.project.has_space);
    trial_close(&t);
}

static void loads_migrate_db(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    load_tool_file(&t, "id: migrate-db\nname: \"Run Database Migration\"\ndescription: \"Executes pending database migrations\"\ncategory: \"database\"\n"
        "parameters:\n  - name: direction\n    type: \"string\"\n    enum: [\"up\", \"down\"]\n    description: \"Migration direction\"\n    required: true\n"
        "  - name: steps\n    type: \"number\"\n    description: \"Number of migrations to apply\"\n    required: false\n    default: 1\n"
        "command: \"go run scripts/migrate.go --direction {{direction}} --steps {{steps}}\"\ntimeout: 120\nconfirm: true\n"
        "environment:\n  DATABASE_URL: \"${DB_URL}\"\n  MIGRATION_DIR: \"db/migrations\"\n");
    trial_expect(&t, "");
    const ToolDef *d = trial_tool(&t, "migrate-db");
    assert_json(&t, d->environment, "{\"DATABASE_URL\":\"${DB_URL}\",\"MIGRATION_DIR\":\"db/migrations\"}");
    assert_string_equal(render(&t, d, "{\"direction\":\"up\",\"steps\":3}"), "go run scripts/migrate.go --direction up --steps 3");
    assert_string_equal(render(&t, d, "{\"direction\":\"up\"}"), "go run scripts/migrate.go --direction up --steps 1");
    trial_close(&t);
}

static void loads_faces_of_server_tools(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    load_tool_file(&t, "id: github-issue\nname: \"Create GitHub Issue\"\ndescription: \"Creates a new issue in the GitHub repository\"\nmcp: true\n"
        "server: \"github-mcp-server\"\ntimeout: 30\nparameters:\n  - name: title\n    type: string\n    description: \"Issue title\"\n    required: true\n"
        "  - name: body\n    type: string\n    description: \"Issue description\"\n    required: false\n");
    trial_expect(&t, "");
    const ToolDef *d = trial_tool(&t, "github-issue");
    assert_int_equal(d->kind, TOOL_MCP);
    assert_str(d->server, "github-mcp-server");
    assert_str(d->server_tool, "github-issue");
    assert_int_equal(d->timeout_ms, 30000);
    assert_null(d->command);
    trial_forget(&t);
    trial_put(&t, "agent/tools/x.md", STR("---\nid: a\nname: A\ndescription: d\nmcp: true\nserver: s\ntool: create_issue\n---\n"));
    load(&t);
    trial_expect(&t, "");
    assert_str(trial_tool(&t, "a")->server_tool, "create_issue");
    assert_int_equal(trial_tool(&t, "a")->timeout_ms, 60000);
    trial_close(&t);
}

static void loads_the_manifest(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    trial_put(&t, "space.manifest.json", STR("{\"name\":\"my-space\",\"version\":\"1\",\"tools\":[\n{\"id\":\"deploy\",\"name\":\"Deploy to Staging\","
              "\"description\":\"Deploy current branch to staging\",\"icon\":\"rocket\",\"command\":\"scripts/deploy.sh\"},\n"
              "{\"id\":\"mini\",\"name\":\"Mini\",\"command\":\"echo {{x}}\",\"parameters\":[{\"name\":\"x\",\"type\":\"string\",\"required\":true}]}]}"));
    load(&t);
    trial_expect(&t, "");
    assert_str(trial_tool(&t, "deploy")->description, "Deploy current branch to staging");
    assert_str(trial_tool(&t, "mini")->description, "Mini");
    assert_int_equal(trial_tool(&t, "mini")->origin.line, 3);
    assert_int_equal(trial_tool(&t, "mini")->timeout_ms, 60000);
    trial_forget(&t);

    /* a file takes precedence over the manifest */
    trial_put(&t, "agent/tools/any.md", STR("---\nid: deploy\nname: D\ndescription: from the file\ncommand: make deploy\n---\n"));
    load(&t);
    trial_expect(&t, "warning: space.manifest.json:2:2: tool \"deploy\": the file in agent/tools wins over this entry\n");
    assert_int_equal(t.l.tools.n, 2);
    assert_str(trial_tool(&t, "deploy")->description, "from the file");
    trial_close(&t);
}

/* ---- invalid tools ---- */

#define FILE_ "agent/tools/x.md"
#define GOOD "id: x\nname: X\ndescription: d\n"
#define RUN "command: run\n"
static const struct { const char *front, *expected; } tool_cases[] = {
    { GOOD RUN, "" },
    { "name: X\ndescription: d\n" RUN, FILE_ ":2:1: id is required\n" },
    { "id: x\ndescription: d\n" RUN, FILE_ ":2:1: name is required\n" },
    { "id: x\nname: X\n" RUN, FILE_ ":2:1: description is required\n" },
    { GOOD, FILE_ ":2:1: command is required\n" },
    { "", FILE_ ":2:1: id is required\n" FILE_ ":2:1: name is required\n" FILE_ ":2:1: description is required\n" FILE_ ":2:1: command is required\n" },
    { GOOD "mcp: true\n", FILE_ ":2:1: server is required\n" },
    { GOOD RUN "mcp: false\n", "" },
    { "id: 5\nname: X\ndescription: d\n" RUN, FILE_ ":2:1: id: expected string, got int\n" },
    { "id: x\nname: []\ndescription: d\n" RUN, FILE_ ":3:1: name: expected string, got list\n" },
    { "id: x\nname: X\ndescription: {}\n" RUN, FILE_ ":4:1: description: expected string, got map\n" },
    { GOOD "command: [a]\n", FILE_ ":5:1: command: expected string, got list\n" },
    { GOOD "command: ''\n", FILE_ ":5:1: tool \"x\": command must not be empty or contain NUL\n" },
    { GOOD "command: \"a\\0b\"\n", FILE_ ":5:1: tool \"x\": command must not be empty or contain NUL\n" },
    { GOOD RUN "category: 1\n", FILE_ ":6:1: category: expected string, got int\n" },
    { GOOD RUN "icon: true\n", FILE_ ":6:1: icon: expected string, got bool\n" },
    { GOOD RUN "timeout: soon\n", FILE_ ":6:1: timeout: expected number, got string\n" },
    { GOOD RUN "timeout: 0\n", FILE_ ":6:1: tool \"x\" timeout must be > 0\n" },
    { GOOD RUN "timeout: -1.5\n", FILE_ ":6:1: tool \"x\" timeout must be > 0\n" },
    { GOOD RUN "timeout: 1e300\n", FILE_ ":6:1: tool \"x\" timeout must be <= 1000000000\n" },
    { GOOD RUN "timeout: 0.5\n", "" },
    { GOOD RUN "confirm: yes\n", FILE_ ":6:1: confirm: expected bool, got string (write true or false, without quotes)\n" },
    { GOOD RUN "mcp: 1\n", FILE_ ":6:1: mcp: expected bool, got int\n" },
    { GOOD RUN "server: 1\n", FILE_ ":6:1: server: expected string, got int\n" },
    { GOOD RUN "tool: 1\n", FILE_ ":6:1: tool: expected string, got int\n" },
    { GOOD RUN "unsafe_raw: 1\n", FILE_ ":6:1: unsafe_raw: expected bool, got int\n" },
    { GOOD RUN "environment: []\n", FILE_ ":6:1: environment: expected map, got list\n" },
    { GOOD RUN "environment:\n  A: 1\n  B-C: x\n  D: \"${E\"\n  F: \"${}\"\n  G: \"$${\"\n  H: \"a${I}b$c$$\"\n",
      FILE_ ":7:3: environment.A: expected string, got int\n"
      FILE_ ":8:3: environment.B-C: is not the name of a variable\n"
      FILE_ ":9:3: environment.D: \"${\" must be followed by a name and \"}\" (a literal one is \"$${\")\n"
      FILE_ ":10:3: environment.F: \"${\" must be followed by a name and \"}\" (a literal one is \"$${\")\n" },
    { GOOD RUN "environment:\n  A: \"${OPENAI_API_KEY}\"\n",
      FILE_ ":7:3: environment.A: OPENAI_API_KEY is a key or token (sandbox.env_allow of harness.md must name it)\n" },
    { GOOD RUN "comand: x\n", "" FILE_ ":6:1: unknown key \"comand\" (did you mean \"command\"?)\n" },

    /* ids */
    { "id: Deploy\nname: X\ndescription: d\n" RUN, FILE_ ":2:1: tool \"Deploy\": id must be kebab-case ([a-z0-9-]{1,64})\n" },
    { "id: a_b\nname: X\ndescription: d\n" RUN, FILE_ ":2:1: tool \"a_b\": id must be kebab-case ([a-z0-9-]{1,64})\n" },
    { "id: -a\nname: X\ndescription: d\n" RUN, FILE_ ":2:1: tool \"-a\": id must be kebab-case ([a-z0-9-]{1,64})\n" },
    { "id: a--b\nname: X\ndescription: d\n" RUN, FILE_ ":2:1: tool \"a--b\": id must be kebab-case ([a-z0-9-]{1,64})\n" },
    { "id: ''\nname: X\ndescription: d\n" RUN, FILE_ ":2:1: tool \"\": id must be kebab-case ([a-z0-9-]{1,64})\n" },
    { "id: a-1-b\nname: X\ndescription: d\n" RUN, "" },

    /* parameters */
    { GOOD RUN "parameters: {}\n", FILE_ ":6:1: parse tool x.md: parameters: expected list, got map\n" },
    { GOOD RUN "parameters: [a]\n", FILE_ ":6:14: parameters[0]: expected map, got string\n" },
    { GOOD RUN "parameters:\n  - type: string\n", FILE_ ":7:5: parameters[0].name is required\n" },
    { GOOD RUN "parameters:\n  - name: a\n", FILE_ ":7:5: parameters[0].type is required\n" },
    { GOOD RUN "parameters:\n  - name: a\n    type: strng\n", FILE_ ":8:5: parameters[0].type: unknown type \"strng\" (did you mean \"string\"?)\n" },
    { GOOD RUN "parameters:\n  - name: a\n    type: object\n", FILE_ ":8:5: parameters[0].type: unknown type \"object\"\n" },

    /* commands, at their position in the file */
    { GOOD "command: echo {{nope}}\n", FILE_ ":5:15: command: " },
    { GOOD "command: \"echo {{nope}}\"\n", FILE_ ":5:16: command: " },
    { GOOD "command: |\n  echo one\n  echo {{nope}}\n", FILE_ ":7:8: command: " },
    { GOOD "parameters:\n  - {name: a, type: string}\ncommand: rm -r {{a}}/\n", FILE_ ":7:16: command: " },
    { GOOD "parameters:\n  - {name: a, type: string, required: true}\ncommand: echo {{{a}}}\n", FILE_ ":7:15: command: " },
    { GOOD "parameters:\n  - {name: a, type: string, required: true}\ncommand: echo {{{a}}}\nunsafe_raw: true\n",
      "warning: " FILE_ ":8:1: tool \"x\": unsafe_raw puts values into the shell command unquoted\n" },
    { GOOD RUN "unsafe_raw: true\n", "" },
};

/* An expectation that ends in ": " is the beginning of one message of another room. */
static void reports_what_is_wrong_with_a_tool(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    for (size_t i = 0; i < sizeof tool_cases / sizeof *tool_cases; i++) {
        const char *expected = tool_cases[i].expected;
        load_tool_file(&t, tool_cases[i].front);
        if (str_ends(str_from(expected), STR(": ")) && strncmp(trial_problems(&t), expected, strlen(expected)) == 0 && t.problems.n == 1) continue;
        trial_compare(&t, expected, tool_cases[i].front, __FILE__, __LINE__);
    }
    trial_close(&t);
}

static const struct { const char *json, *expected; } manifest_cases[] = {
    { "{}", "" },
    { "{\"tools\":null}", "" },
    { "[]", "space.manifest.json:1:1: parse space space.manifest.json: json: line 1: expected a map\n" },
    { "{\"tools\":{}}", "space.manifest.json:1:2: tools: expected list, got map\n" },
    { "{\"tools\":[1]}", "space.manifest.json:1:11: tools[0]: expected map, got int\n" },
    { "{\"tools\":[{}]}", "space.manifest.json:1:11: tools[0].id is required\nspace.manifest.json:1:11: tools[0].name is required\n"
                         "space.manifest.json:1:11: tools[0].command is required\n" },
    { "{\"tools\":[{\"id\":\"a\",\"name\":\"A\",\"command\":\"x\",\"timeout\":\"5\"}]}",
        "space.manifest.json:1:46: tools[0].timeout: expected number, got string\n" },
    { "{\"tools\":[{\"id\":\"a\",\"name\":\"A\",\"command\":\"x\",\"parameters\":{}}]}",
        "space.manifest.json:1:46: tools[0].parameters: expected list, got map\n" },
    { "{\"tools\":[{\"id\":\"a\",\"name\":\"A\",\"mcp\":true,\"server\":\"s\"}]}", "" },
};

static void reports_what_is_wrong_with_a_manifest(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    for (size_t i = 0; i < sizeof manifest_cases / sizeof *manifest_cases; i++) {
        trial_forget(&t);
        trial_put(&t, "space.manifest.json", str_from(manifest_cases[i].json));
        load(&t);
        trial_compare(&t, manifest_cases[i].expected, manifest_cases[i].json, __FILE__, __LINE__);
    }
    trial_close(&t);
}

/* ---- hooks ---- */

static void loads_hooks(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    trial_put(&t, "agent/hooks/guard.json", STR("{\"hooks\":[\n{\"id\":\"no-force\",\"type\":\"pre_tool\",\"tools\":[\"bash\",\"deploy*\"],"
              "\"command\":\"./check.sh\"},\n{\"id\":\"note\",\"type\":\"post_tool\",\"command\":\"log\",\"blocking\":false}]}"));
    load(&t);
    trial_expect(&t, "warning: agent/hooks/guard.json:3:49: hook \"note\": blocking is false, so a call continues when the hook fails\n");
    assert_int_equal(t.l.hooks.n, 2);
    const HookDef *h = &t.l.hooks.at[0];
    assert_str(h->name, "no-force");
    assert_str(h->event, "tool.pre");
    assert_int_equal(h->kind, HOOK_COMMAND);
    assert_true(h->blocking && !h->allow_on_error && !h->post);
    assert_int_equal(h->timeout_ms, 5000);
    assert_int_equal(h->priority, 0);
    assert_str(h->command, "./check.sh");
    assert_str(h->folder, ".");
    assert_int_equal(h->tools.n, 2);
    assert_int_equal(h->origin.line, 2);
    assert_str(h[1].event, "tool.post");
    assert_true(h[1].post && h[1].allow_on_error && !h[1].blocking);
    trial_close(&t);
}

#define HOOK(rest) "{\"hooks\":[{\"id\":\"h\"," rest "}]}"
static const struct { const char *json, *expected; } hook_cases[] = {
    { "{}", "agent/hooks/h.json:1:1: hooks is required\n" },
    { "[]", "agent/hooks/h.json:1:1: parse hook h.json: json: line 1: expected a map\n" },
    { "{\"hooks\":{}}", "agent/hooks/h.json:1:2: hooks: expected list, got map\n" },
    { "{\"hooks\":[null]}", "agent/hooks/h.json:1:11: hooks[0]: expected map, got null\n" },
    { "{\"hooks\":[{}]}", "agent/hooks/h.json:1:11: hooks[0].id is required\nagent/hooks/h.json:1:11: hooks[0].type is required\n"
                         "agent/hooks/h.json:1:11: hooks[0].command is required\n" },
    { HOOK("\"type\":\"pre-tool\",\"command\":\"x\""), "agent/hooks/h.json:1:21: hooks[0].type \"pre-tool\" is invalid (did you mean \"pre_tool\"?)\n" },
    { HOOK("\"type\":1,\"command\":\"x\""), "agent/hooks/h.json:1:21: hooks[0].type: expected string, got int\n" },
    { HOOK("\"type\":\"pre_tool\",\"command\":\" \""), "agent/hooks/h.json:1:39: hook \"h\": command must not be empty or contain NUL\n" },
    { HOOK("\"type\":\"pre_tool\",\"command\":[\"x\"]"), "agent/hooks/h.json:1:39: hooks[0].command: expected string, got list\n" },
    { HOOK("\"type\":\"pre_tool\",\"command\":\"x\",\"tools\":\"bash\""),
        "agent/hooks/h.json:1:53: hooks[0].tools: expected list, got string (write [one, two], or one item per line after \"- \")\n" },
    { HOOK("\"type\":\"pre_tool\",\"command\":\"x\",\"blocking\":1"), "agent/hooks/h.json:1:53: hooks[0].blocking: expected bool, got int\n" },
    { HOOK("\"type\":\"pre_tool\",\"command\":\"x\",\"when\":1"), "agent/hooks/h.json:1:53: hooks[0]: unknown key \"when\"\n" },
    { "{\"hooks\":[{\"id\":\"a b\",\"type\":\"pre_tool\",\"command\":\"x\"}]}",
      "agent/hooks/h.json:1:12: hook \"a b\": name must match [A-Za-z0-9_-]{1,64}\n" },
    { "{\"hooks\":[{\"id\":\"\",\"type\":\"pre_tool\",\"command\":\"x\"}]}", "agent/hooks/h.json:1:12: hooks[0].id cannot be empty\n" },
};

static void reports_what_is_wrong_with_hooks(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    t.in.lenient = true;                               /* errors in guards are never downgraded */
    for (size_t i = 0; i < sizeof hook_cases / sizeof *hook_cases; i++) {
        trial_forget(&t);
        trial_put(&t, "agent/hooks/h.json", str_from(hook_cases[i].json));
        load(&t);
        trial_compare(&t, hook_cases[i].expected, hook_cases[i].json, __FILE__, __LINE__);
    }
    trial_close(&t);
}

/* ---- agent ---- */

static void load_config(Trial *t, const char *front, const char *body) {
    trial_forget(t);
    trial_put(t, "agent/config.md", str_from(arena_fmt(&t->arena, "---\n%s---\n%s", front, body)));
    load(t);
}

static void loads_the_agent(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    load_config(&t, "id: architect\nname: The Architect\nmodel: m\nprovider: p\nmaxIterations: 9\nblockedTools: [bash]\ncanInvokeAgents: [helper]\n"
                    "canSpawn: true\ntools: [read, write]\n", "You are {{context.agent.name}}.\n");
    trial_expect(&t, "");
    assert_int_equal(t.l.agents.n, 1);
    const AgentDef *a = &t.l.agents.at[0];
    assert_str(a->name, "architect");
    assert_str(a->title, "The Architect");
    assert_str(a->model, "m");
    assert_str(a->provider, "p");
    assert_int_equal(a->max_iterations, 9);
    assert_str(a->blocked_tools.at[0], "bash");
    assert_str(a->can_invoke.at[0], "helper");
    assert_true(a->can_spawn && a->has_tools && a->has_can_invoke && a->from_space && a->prompt_template);
    assert_int_equal(a->tools.n, 2);
    assert_str(a->prompt, "You are {{context.agent.name}}.\n");
    assert_int_equal(t.l.references.n, 3);
    load_config(&t, "id: a\n", "");
    trial_expect(&t, "");
    a = &t.l.agents.at[0];
    assert_true(!a->can_spawn && !a->has_tools && !a->has_can_invoke);
    assert_int_equal(a->max_iterations, 0);
    trial_close(&t);
}

#define CONFIG "agent/config.md"
static const struct { const char *front, *body, *expected; } agent_cases[] = {
    { "name: A\n", "", CONFIG ":1:1: id is required\n" },
    { "id: 1\n", "", CONFIG ":2:1: id: expected string, got int\n" },
    { "id: a b\n", "", CONFIG ":1:1: agent \"a b\": name must match [A-Za-z0-9_-]{1,64}\n" },
    { "id: a\nname: 1\n", "", CONFIG ":3:1: name: expected string, got int\n" },
    { "id: a\ndescription: 1\n", "", CONFIG ":3:1: description: expected string, got int\n" },
    { "id: a\nmodel: {}\n", "", CONFIG ":3:1: model: expected string, got map\n" },
    { "id: a\nprovider: 1\n", "", CONFIG ":3:1: provider: expected string, got int\n" },
    { "id: a\nmaxIterations: x\n", "", CONFIG ":3:1: maxIterations: expected int, got string (write the number alone, without quotes and units)\n" },
    { "id: a\nmaxIterations: 0\n", "", CONFIG ":3:1: agent \"a\" maxIterations must be >= 1\n" },
    { "id: a\nblockedTools: bash\n", "", CONFIG ":3:1: blockedTools: expected list, got string (write [one, two], or one item per line after \"- \")\n" },
    { "id: a\ncanInvokeAgents: [1]\n", "", CONFIG ":3:19: canInvokeAgents[0]: expected string, got int\n" },
    { "id: a\ncanSpawn: 1\n", "", CONFIG ":3:1: canSpawn: expected bool, got int\n" },
    { "id: a\ntools: all\n", "", CONFIG ":3:1: tools: expected list, got string (write [one, two], or one item per line after \"- \")\n" },
    { "id: a\nblockedTool: []\n", "", "" CONFIG ":3:1: unknown key \"blockedTool\" (did you mean \"blockedTools\"?)\n" },
};

static void reports_what_is_wrong_with_the_agent(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    for (size_t i = 0; i < sizeof agent_cases / sizeof *agent_cases; i++) {
        load_config(&t, agent_cases[i].front, agent_cases[i].body);
        trial_compare(&t, agent_cases[i].expected, agent_cases[i].front, __FILE__, __LINE__);
    }
    load_config(&t, "id: a\n", "one\ntwo {{#if x}}\n");
    assert_int_equal(t.problems.errors, 1);
    assert_int_equal(t.problems.at[0].line, 5);
    trial_close(&t);
}

/* ---- folders ---- */

static void odd_files_are_named(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    trial_put(&t, "agent/tools/notes.txt", STR("no tool"));
    trial_put(&t, "agent/tools/.hidden.md", STR("no tool"));
    trial_put(&t, "agent/tools/sub/x.md", STR("no tool"));
    trial_put(&t, "agent/hooks/README.md", STR("no hook"));
    trial_put(&t, "agent/hooks/guard.md", STR("no hook"));
    trial_put(&t, "agent/memory/notes.md", STR("nothing of ours"));
    trial_put(&t, "agent/Hooks/x.json", STR("{}"));
    load(&t);
    stray_report(&t.l);
    trial_expect(&t, "agent/Hooks: nothing reads this folder (did you mean \"hooks\"?)\n"
                     "agent/hooks/guard.md:1:1: nothing reads this file: only *.json is read here (did you mean \"guard.json\"?)\n"
                     "agent/tools/notes.txt:1:1: nothing reads this file: only *.md is read here (did you mean \"notes.md\"?)\n"
                     "agent/tools/sub: nothing reads this folder (move its files up: subfolders are not read)\n");
    VEC_CLEAR(&t.l.strays);
    trial_forget(&t);
    load_space(&t.l, STR("nowhere"));
    trial_expect(&t, "nowhere: parse space nowhere: there is no agent/ and no space.manifest.json\n");
    trial_forget(&t);
    trial_put(&t, "agent/tools/b.md", STR("no frontmatter\n"));
    load(&t);
    trial_expect(&t, "agent/tools/b.md:1:1: parse tool b.md: missing frontmatter delimiter (the first line is ---, then comes YAML, then another line ---)\n");
    trial_close(&t);
}

static void lenient_leaves_bad_tools_out(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    t.in.lenient = true;
    trial_put(&t, "agent/tools/a.md", STR("---\nid: a\n---\n"));
    trial_put(&t, "agent/tools/b.md", STR("---\n" GOOD RUN "---\n"));
    trial_put(&t, "agent/tools/c.md", STR("no frontmatter\n"));
    load(&t);
    assert_int_equal(t.problems.errors, 0);
    assert_int_equal(t.l.tools.n, 1);
    trial_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_deploy), cmocka_unit_test(loads_migrate_db), cmocka_unit_test(loads_faces_of_server_tools),
        cmocka_unit_test(loads_the_manifest), cmocka_unit_test(reports_what_is_wrong_with_a_tool),
        cmocka_unit_test(reports_what_is_wrong_with_a_manifest), cmocka_unit_test(loads_hooks),
        cmocka_unit_test(reports_what_is_wrong_with_hooks), cmocka_unit_test(loads_the_agent),
        cmocka_unit_test(reports_what_is_wrong_with_the_agent), cmocka_unit_test(odd_files_are_named),
        cmocka_unit_test(lenient_leaves_bad_tools_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
