#include "artifact/trial.h"

static void load_settings_text(Trial *t, const char *yaml) {
    trial_forget(t);
    const Document *d = trial_settings(t, yaml);
    load_servers(&t->l, d, *dict_find_str(value_dict(d->root), STR("mcp_servers")), false);
}

static void load_file(Trial *t, const char *json) {
    trial_forget(t);
    trial_put(t, ".mcp.json", str_from(json));
    load_mcp_json(&t->l, STR(".mcp.json"));
}

static void loads_every_field(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    load_settings_text(&t, "mcp_servers:\n  files:\n    command: npx\n    args: [-y, server]\n    env: {TOKEN: \"${FILES_TOKEN}\"}\n    cwd: sub\n"
        "    tools: {allow: [read_*], deny: [write]}\n    timeout_ms: 1500\n    read_roots: [a]\n    write_roots: [b]\n    network: true\n"
        "    allow: [sampling, elicitation, roots]\n    trust: annotations\n"
        "  web:\n    url: https://mcp.example.com/mcp\n    headers: {Authorization: \"Bearer ${WEB_TOKEN}\"}\n");
    trial_expect(&t, "");
    assert_int_equal(t.l.servers.n, 2);
    const ServerDef *s = &t.l.servers.at[0];
    assert_str(s->name, "files");
    assert_str(s->command, "npx");
    assert_str(s->args.at[1], "server");
    assert_json(&t, s->env, "{\"TOKEN\":\"${FILES_TOKEN}\"}");
    assert_str(s->cwd, "sub");
    assert_str(s->allow_tools.at[0], "read_*");
    assert_str(s->deny_tools.at[0], "write");
    assert_int_equal(s->timeout_ms, 1500);
    assert_str(s->read_roots.at[0], "a");
    assert_str(s->write_roots.at[0], "b");
    assert_true(s->network && s->trust_annotations);
    assert_int_equal(s->allow.n, 3);
    assert_int_equal(s->origin.line, 2);
    assert_str(s[1].url, "https://mcp.example.com/mcp");
    assert_json(&t, s[1].headers, "{\"Authorization\":\"Bearer ${WEB_TOKEN}\"}");
    assert_true(!s[1].network && !s[1].trust_annotations && s[1].command.n == 0);
    assert_int_equal(s[1].timeout_ms, 60000);
    trial_close(&t);
}

static void servers_of_a_file(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    load_file(&t, "{\"mcpServers\":{\n\"a\":{\"type\":\"stdio\",\"command\":\"x\",\"args\":[]},\n\"b\":{\"type\":\"http\",\"url\":\"http://localhost:1/mcp\"}}}");
    trial_expect(&t, "");
    assert_int_equal(t.l.servers.n, 2);
    assert_int_equal(t.l.grants.n, 2);           /* the program and the URL: both need trust */
    assert_int_equal(t.l.servers.at[1].origin.line, 3);
    assert_str(t.l.servers.at[1].origin.file, ".mcp.json");
    assert_str(t.l.looked_at.at[0], ".mcp.json");
    trial_close(&t);
}

#define ONE(rest) "mcp_servers:\n  s:\n" rest
#define RUN "    command: x\n"
#define WEB(oauth) ONE("    url: https://a\n    oauth: " oauth "\n")
#define AT "harness.yaml"
static const struct { const char *yaml, *expected; } cases[] = {
    { "mcp_servers: {}\n", "" },
    { "mcp_servers: []\n", AT ":1:1: mcp_servers: expected map, got list\n" },
    { "mcp_servers:\n  s: npx\n", AT ":2:3: mcp_servers.s: expected map, got string\n" },
    { "mcp_servers:\n  s: {}\n", AT ":2:3: mcp_servers.s: command or url is required\n" },
    { ONE(RUN "    url: https://a\n"), AT ":4:5: mcp_servers.s: command and url exclude each other\n" },
    { "mcp_servers:\n  a b:\n" RUN, AT ":2:3: server \"a b\": name must match [A-Za-z0-9_-]{1,64}\n" },
    { ONE("    command: [x]\n"), AT ":3:5: mcp_servers.s.command: expected string, got list\n" },
    { ONE("    command: ''\n"), AT ":3:5: mcp_servers.s.command: must be the name of a program\n" },
    { ONE("    command: \"a\\0\"\n"), AT ":3:5: mcp_servers.s.command: must be the name of a program\n" },
    { ONE(RUN "    args: -y\n"), AT ":4:5: mcp_servers.s.args: expected list, got string (write [one, two], or one item per line after \"- \")\n" },
    { ONE(RUN "    args: [1]\n"), AT ":4:12: mcp_servers.s.args[0]: expected string, got int\n" },
    { ONE(RUN "    args: [\"a\\0b\"]\n"), AT ":4:5: mcp_servers.s.args[0]: must not contain NUL\n" },
    { ONE(RUN "    env: []\n"), AT ":4:5: mcp_servers.s.env: expected map, got list\n" },
    { ONE(RUN "    env: {A: 1}\n"), AT ":4:11: mcp_servers.s.env.A: expected string, got int\n" },
    { ONE(RUN "    env: {1A: x}\n"), AT ":4:11: mcp_servers.s.env.1A: is not the name of a variable\n" },
    { ONE(RUN "    env: {A: \"${HARNESS_MCP_TOKEN}\"}\n"),
      AT ":4:11: mcp_servers.s.env.A: HARNESS_MCP_TOKEN is a key or token (sandbox.env_allow of harness.md must name it)\n" },
    { ONE(RUN "    cwd: 1\n"), AT ":4:5: mcp_servers.s.cwd: expected string, got int\n" },
    { ONE("    url: 1\n"), AT ":3:5: mcp_servers.s.url: expected string, got int\n" },
    { ONE("    url: ftp://a\n"), AT ":3:5: mcp_servers.s.url: must start with https:// or http:// and name a host\n" },
    { ONE("    url: https:///x\n"), AT ":3:5: mcp_servers.s.url: must start with https:// or http:// and name a host\n" },
    { ONE("    url: \"https://a b\"\n"), AT ":3:5: mcp_servers.s.url: must start with https:// or http:// and name a host\n" },
    { ONE("    url: https://a\n    headers: x\n"), AT ":4:5: mcp_servers.s.headers: expected map, got string\n" },
    { ONE("    url: https://a\n    headers: {\"A B\": x}\n"), AT ":4:15: mcp_servers.s.headers.A B: is not the name of a header\n" },
    { ONE("    url: https://a\n    headers: {X: \"a\\r\\nY: b\"}\n"), AT ":4:15: mcp_servers.s.headers.X: must not contain line breaks\n" },
    { ONE("    url: https://a\n    headers: {X: \"${\"}\n"),
        AT ":4:15: mcp_servers.s.headers.X: \"${\" must be followed by a name and \"}\" (a literal one is \"$${\")\n" },
    { ONE("    url: https://a\n    args: [x]\n"), "warning: " AT ":4:5: mcp_servers.s.args has no meaning for a server with a url\n" },
    { ONE(RUN "    headers: {X: y}\n"), "warning: " AT ":4:5: mcp_servers.s.headers has no meaning for a server with a command\n" },
    { ONE(RUN "    tools: [a]\n"), AT ":4:5: mcp_servers.s.tools: expected map, got list\n" },
    { ONE(RUN "    tools: {allow: x}\n"), AT ":4:13: mcp_servers.s.tools.allow: expected list, got string (write [one, two], or one item per line after \"- \")\n" },
    { ONE(RUN "    tools: {deny: [1]}\n"), AT ":4:20: mcp_servers.s.tools.deny[0]: expected string, got int\n" },
    { ONE(RUN "    tools: {alow: []}\n"), "" AT ":4:13: mcp_servers.s.tools: unknown key \"alow\" (did you mean \"allow\"?)\n" },
    { ONE(RUN "    timeout_ms: 1.5\n"), AT ":4:5: mcp_servers.s.timeout_ms: expected int, got number\n" },
    { ONE(RUN "    timeout_ms: -1\n"), AT ":4:5: server \"s\" timeout_ms must be >= 0\n" },
    { ONE(RUN "    read_roots: a\n"), AT ":4:5: mcp_servers.s.read_roots: expected list, got string (write [one, two], or one item per line after \"- \")\n" },
    { ONE(RUN "    write_roots: [1]\n"), AT ":4:19: mcp_servers.s.write_roots[0]: expected string, got int\n" },
    { ONE(RUN "    network: 1\n"), AT ":4:5: mcp_servers.s.network: expected bool, got int\n" },
    { ONE(RUN "    allow: [samplin]\n"),
      AT ":4:5: mcp_servers.s.allow: expected sampling, elicitation or roots, got \"samplin\" (did you mean \"sampling\"?)\n" },
    { ONE(RUN "    trust: all\n"), AT ":4:5: mcp_servers.s.trust: expected annotations, got \"all\"\n" },
    { ONE(RUN "    trust: true\n"), AT ":4:5: mcp_servers.s.trust: expected string, got bool\n" },
    { ONE(RUN "    type: pipe\n"), AT ":4:5: mcp_servers.s.type: expected stdio, http, sse or streamable-http, got \"pipe\"\n" },
    { WEB("{dpop: true, redirect_port: 8080, client_id: a, client_secret: \"${S}\", grant: client_credentials}"), "" },
    { ONE("    url: https://a\n    headers: {authorization: x}\n    oauth: {}\n"),
        "warning: " AT ":5:5: mcp_servers.s.oauth has no meaning with an Authorization header\n" },
    { WEB("x"), AT ":4:5: mcp_servers.s.oauth: expected map, got string\n" },
    { WEB("{dpop: 1}"), AT ":4:13: mcp_servers.s.oauth.dpop: expected bool, got int\n" },
    { WEB("{scope: 1}"), AT ":4:13: mcp_servers.s.oauth.scope: expected string, got int\n" },
    { WEB("{scope: ''}"), AT ":4:13: mcp_servers.s.oauth.scope: must not be empty or contain NUL\n" },
    { WEB("{redirect_port: 70000}"), AT ":4:13: mcp_servers.s.oauth.redirect_port: must be a port, 1 to 65535\n" },
    { WEB("{clientid: x}"), AT ":4:13: mcp_servers.s.oauth: unknown key \"clientid\" (did you mean \"client_id\"?)\n" },
    { WEB("{grant: password}"),
      AT ":4:13: mcp_servers.s.oauth.grant: expected authorization_code, client_credentials, jwt_bearer or enterprise, got \"password\"\n" },
    { WEB("{grant: client_credentials, client_id: a}"),
        AT ":4:13: mcp_servers.s.oauth.grant: client_credentials needs client_id and client_secret or private_key\n" },
    { WEB("{grant: jwt_bearer}"), AT ":4:13: mcp_servers.s.oauth.grant: jwt_bearer needs assertion or assertion_file\n" },
    { WEB("{grant: enterprise, client_id: a}"),
      AT ":4:13: mcp_servers.s.oauth.grant: enterprise needs client_id, idp_client_id and idp_id_token (or idp_id_token_file)\n" },
    { WEB("{grant: enterprise, client_id: a, idp_client_id: b, idp_id_token: c}"),
      AT ":4:13: mcp_servers.s.oauth.grant: enterprise needs idp_token_endpoint or idp_issuer\n" },
    { WEB("{client_secret: x}"), AT ":4:5: mcp_servers.s.oauth: client_id is required with a client_secret or a private key\n" },
    { WEB("{client_id: a, token_auth: private_key_jwt}"), AT ":4:27: mcp_servers.s.oauth.token_auth: private_key_jwt needs private_key or private_key_file\n" },
    { WEB("{client_id: a, token_auth: client_secret_post}"), AT ":4:27: mcp_servers.s.oauth.token_auth: client_secret_post needs client_secret\n" },
    { WEB("{client_id: a, private_key: x, private_key_file: y}"), AT ":4:43: mcp_servers.s.oauth: private_key and private_key_file exclude each other\n" },
    { WEB("{client_metadata_url: \"http://x/y\"}"), AT ":4:13: mcp_servers.s.oauth.client_metadata_url: must start with https://\n" },
    { WEB("{client_id: \"${\"}"), AT ":4:13: mcp_servers.s.oauth.client_id: \"${\" must be followed by a name and \"}\" (a literal one is \"$${\")\n" },
    { WEB("{client_id: \"${ANTHROPIC_API_KEY}\"}"),
      AT ":4:13: mcp_servers.s.oauth.client_id: ANTHROPIC_API_KEY is a key or token (sandbox.env_allow of harness.md must name it)\n" },
    { ONE(RUN "    oauth: {dpop: true}\n"), "warning: " AT ":4:5: mcp_servers.s.oauth has no meaning for a server with a command\n" },
    { ONE(RUN "    comand: x\n"), "" AT ":4:5: mcp_servers.s: unknown key \"comand\" (did you mean \"command\"?)\n" },
};

static void reports_what_is_wrong(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        load_settings_text(&t, cases[i].yaml);
        trial_compare(&t, cases[i].expected, cases[i].yaml, __FILE__, __LINE__);
    }
    trial_close(&t);
}

static void reports_bad_files_and_repeated_names(void **state) {
    (void)state;
    Trial t;
    trial_open(&t);
    load_file(&t, "[]");
    trial_expect(&t, ".mcp.json:1:1: parse config .mcp.json: json: line 1: expected a map\n");
    load_file(&t, "{}");
    trial_expect(&t, ".mcp.json:1:1: mcpServers is required\n");
    load_file(&t, "{\"mcpServers\":[]}");
    trial_expect(&t, ".mcp.json:1:2: mcpServers: expected map, got list\n");
    load_file(&t, "{\"mcpServers\":{\"a\":{\"command\":1}}}");
    trial_expect(&t, ".mcp.json:1:21: mcpServers.a.command: expected string, got int\n");
    load_settings_text(&t, ONE(RUN));
    trial_put(&t, ".mcp.json", STR("{\"mcpServers\":{\"s\":{\"command\":\"evil\"}}}"));
    load_mcp_json(&t.l, STR(".mcp.json"));
    trial_expect(&t, ".mcp.json:1:16: server \"s\" is defined more than once (first defined at harness.yaml:2:3)\n");
    assert_int_equal(t.l.servers.n, 1);
    trial_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_every_field), cmocka_unit_test(servers_of_a_file), cmocka_unit_test(reports_what_is_wrong),
        cmocka_unit_test(reports_bad_files_and_repeated_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
