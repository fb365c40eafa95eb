/* harness models: the profiles of the project, how each is reached, and with --check whether it answers. */
#include <stdlib.h>
#include "agent/session.h"
#include "cli/opening.h"
#include "cli/report.h"
#include "cli/terminal/table.h"
#include "value/json.h"

typedef struct Row { ModelDef def; ModelRoute route; bool key_set, checked, answers; char error[600]; } Row;
typedef struct Models { VEC(Row) rows; Arena arena; } Models;

static bool key_is_set(const ModelRoute *route) {
    if (route->key_env.n == 0) return false;
    char *name = str_dup(route->key_env);
    const char *value = getenv(name);
    free(name);
    return value && *value;
}

static bool add_row(Models *m, const Project *p, Str name, Error *err) {
    Row row = { 0 };
    if (!model_pick(p, name, NULL, &m->arena, &row.def, err)) return false;
    row.route = model_route(&row.def);
    row.key_set = key_is_set(&row.route);
    VEC_PUSH(&m->rows, row);
    return true;
}

/* Every profile, the default one first; without profiles, the model selected by the environment. */
static bool gather(Models *m, const Project *p, Error *err) {
    const Settings *s = &p->settings;
    bool ok = s->n_models && s->model.n == 0 ? true : add_row(m, p, STR(""), err);
    for (size_t i = 0; ok && i < s->n_models; i++)
        if (m->rows.n == 0 || !str_eq(m->rows.at[0].def.name, s->models[i].name)) ok = add_row(m, p, s->models[i].name, err);
    return ok;
}

static void check(Opening *open, Models *m, Error *err) {
    AgentsConfig config = { 0 };
    Agents *agents = NULL;
    if (!agent_set_new(open->rt, &config, &agents, err)) return;
    for (size_t i = 0; i < m->rows.n; i++) {
        Row *row = &m->rows.at[i];
        Error why = { 0 };
        row->checked = true;
        row->answers = agent_set_try(agents, row->def.name, NULL, &why);
        if (!row->answers) error_format(&why, row->error, sizeof row->error);
    }
    agent_set_free(agents);
}

/* ---- output ---- */

static const char *key_state(const Row *row) {
    if (row->route.key_env.n == 0) return "needs no key";
    if (row->key_set) return "set";
    return row->route.needs_key ? "not set" : "not set, not needed";
}

static void print_table(Cli *cli, const Models *m) {
    bool checked = m->rows.n && m->rows.at[0].checked;
    Table t = { .columns = checked ? 6 : 5 };
    for (size_t i = 0; i < m->rows.n; i++) {
        const Row *row = &m->rows.at[i];
        table_add(&t, row->def.name);
        table_add_fmt(&t, "%s (%s)", project_provider_name(row->def.provider), row->route.wire);
        table_add(&t, row->route.base.n ? row->route.base : STR("local"));
        if (row->route.key_env.n) table_add_fmt(&t, STR_FMT " %s", STR_ARG(row->route.key_env), key_state(row));
        else table_add(&t, str_from(key_state(row)));
        table_add(&t, model_priced(&row->def) ? STR("priced") : STR("price unknown"));
        if (checked) table_add(&t, row->answers ? STR("answers") : str_from(row->error));
    }
    table_write(&t, &cli->out, 0, cli->color_out);
}

static void add_text(Buf *out, const char *name, Str text) {
    buf_add_fmt(out, "%s\"%s\":", out->at[out->n - 1] == '{' ? "" : ",", name);
    if (text.n) json_write_string(out, text, false);
    else buf_add(out, STR("null"));
}

static void print_json(Cli *cli, const Models *m) {
    Buf *out = &cli->out;
    buf_add_char(out, '[');
    for (size_t i = 0; i < m->rows.n; i++) {
        const Row *row = &m->rows.at[i];
        buf_add(out, i ? STR(",{") : STR("{"));
        add_text(out, "name", row->def.name);
        add_text(out, "provider", str_from(project_provider_name(row->def.provider)));
        add_text(out, "wire", str_from(row->route.wire));
        add_text(out, "server", row->route.base);
        add_text(out, "key", row->route.key_env);
        buf_add_fmt(out, ",\"key_set\":%s,\"priced\":%s", row->key_set ? "true" : "false", model_priced(&row->def) ? "true" : "false");
        if (row->checked) buf_add_fmt(out, ",\"answers\":%s", row->answers ? "true" : "false");
        if (row->checked) add_text(out, "error", str_from(row->error));
        buf_add_char(out, '}');
    }
    buf_add(out, STR("]\n"));
}

static int print(Cli *cli, const Models *m) {
    bool ok = true;
    for (size_t i = 0; i < m->rows.n; i++) ok = ok && (!m->rows.at[i].checked || m->rows.at[i].answers);
    if (cli->json) print_json(cli, m);
    else print_table(cli, m);
    return ok ? CLI_OK : CLI_FAILED;
}

static int list(Cli *cli, Models *m) {
    Project *p = report_project(cli);
    Error err = { 0 };
    if (!p) return CLI_FAILED;
    int status = gather(m, p, &err) ? print(cli, m) : cli_fail(cli, CLI_FAILED, &err);
    project_free(p);
    return status;
}

static int list_checked(Cli *cli, Models *m) {
    Opening open;
    Error err = { 0 };
    int status = opening_open(&open, cli, NULL);
    if (status < 0) {
        bool ok = gather(m, runtime_project(open.rt), &err);
        if (ok) check(&open, m, &err);
        status = err.msg[0] ? cli_fail(cli, CLI_FAILED, &err) : print(cli, m);
    }
    opening_close(&open);
    return status;
}

int command_models(Cli *cli) {
    Models m = { 0 };
    int status = args_has(&cli->args, "--check") ? list_checked(cli, &m) : list(cli, &m);
    VEC_CLEAR(&m.rows);
    arena_clear(&m.arena);
    return status;
}
