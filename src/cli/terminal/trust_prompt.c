#include "cli/terminal/trust_prompt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/report.h"
#include "policy/credentials.h"

enum { DIFF_LINES = 60 };

/* The first lines of a long diff; `harness trust --diff` shows all of it. */
static void add_lines(Str diff, Buf *out) {
    size_t lines = 0;
    for (Str rest = diff, line; str_next_line(&rest, &line); lines++) {
        if (lines >= DIFF_LINES) continue;
        buf_add(out, line);
        buf_add_char(out, '\n');
    }
    if (lines > DIFF_LINES) buf_add_fmt(out, "... %zu more lines: harness trust --diff\n", lines - DIFF_LINES);
}

static void add_changes(const TrustSubject *s, Buf *out) {
    Buf all = { 0 };
    trust_show_changes(s, &all);
    add_lines(buf_str(&all), out);
    buf_clear(&all);
}

void trust_prompt_screen(const TrustSubject *s, TrustState state, Buf *out) {
    Buf text = { 0 };
    buf_add(&text, state == TRUST_CODE_CHANGED ? STR("The files of ") : STR("The project "));
    cli_escape_all(&text, s->root, false);                /* a newline in it would forge lines of this screen */
    if (state == TRUST_CODE_CHANGED) {
        buf_add(&text, STR(" changed since you agreed to:\n"));
        trust_show(s, false, &text);
        buf_add(&text, STR("\nWhat changed:\n"));
        add_changes(s, &text);
    } else if (state == TRUST_GRANTS_CHANGED) {
        buf_add(&text, STR(" asks for more than you agreed to:\n"));
        trust_show(s, true, &text);
    } else {
        buf_add(&text, STR(" asks for more than the defaults:\n"));
        trust_show(s, false, &text);
    }
    credentials_mask(&text);
    cli_escape_all(out, buf_str(&text), true);
    buf_clear(&text);
}

static bool is(Str said, const char *letter, const char *word) {
    char lower[16] = { 0 };
    for (size_t i = 0; i < said.n && i < sizeof lower - 1; i++) lower[i] = (char)(said.at[i] >= 'A' && said.at[i] <= 'Z' ? said.at[i] + 32 : said.at[i]);
    return said.n < sizeof lower && (strcmp(lower, letter) == 0 || strcmp(lower, word) == 0);
}

/* Asks again after an unclear answer; no answer means no. */
bool trust_prompt_ask(void *ctx, const TrustSubject *s, TrustState state, bool *always) {
    Buf text = { 0 }, line = { 0 };
    bool sensitive = grants_are_sensitive(s->grants, s->n_grants), yes = false, answered = false;
    trust_prompt_screen(s, state, &text);
    buf_add(&text, STR("\n"));
    while (!answered) {
        buf_add(&text, sensitive ? STR("Trust it? [y]es this version, [p] always in this folder (you are its author), [n]o: ")
                                 : STR("Trust it? [y]es, [n]o: "));
        buf_reset(&line);
        if (!confirm_terminal_question(ctx, buf_str(&text), NULL, &line)) break;
        Str said = str_trim(buf_str(&line));
        *always = sensitive && is(said, "p", "always");
        yes = *always || is(said, "y", "yes");
        answered = yes || is(said, "n", "no");
        buf_reset(&text);
    }
    buf_clear(&text);
    buf_clear(&line);
    return yes;
}

/* No answer means restore: that loses nothing, because the current files are kept. */
bool trust_prompt_changed(void *ctx, const MarkDifference *d) {
    Buf text = { 0 }, shown = { 0 }, line = { 0 };
    bool keep = false, answered = false;
    static const char *const whose[] = { [MARK_DEAD] = "a call was running that did not end properly", [MARK_LIVE] = "another harness was running a call",
                                         [MARK_OWN] = "a call was running" };
    buf_add(&text, STR("Files of "));
    cli_escape_all(&text, str_from(d->root), false);
    buf_add_fmt(&text, " changed while %s.\nA tool may have changed them, or you did (an editor, git pull):\n\n", whose[d->state]);
    add_lines(d->diff, &text);
    credentials_mask(&text);
    buf_add_char(&text, '\n');
    cli_escape_all(&shown, buf_str(&text), true);
    while (!answered) {
        buf_add(&shown, STR("[r]estore what was there before, or [k]eep what is there now? "));
        buf_reset(&line);
        if (!confirm_terminal_question(ctx, buf_str(&shown), d->cancel, &line)) break;
        keep = is(str_trim(buf_str(&line)), "k", "keep");
        answered = keep || is(str_trim(buf_str(&line)), "r", "restore");
        buf_reset(&shown);
    }
    buf_clear(&text);
    buf_clear(&shown);
    buf_clear(&line);
    return keep;
}

Runtime *trust_prompt_read(Cli *cli, const char *dir, Error *err) {
    Problems problems = { 0 };
    Runtime *rt = NULL;
    Error why = { 0 };
    RuntimeConfig config = { .dir = dir ? dir : cli_project(cli), .config = cli->config, .tools = args_value(&cli->args, "--tools"), .reading = true,
                             .ephemeral = true, .log = &cli->log };
    if (!runtime_open(&config, &rt, &problems, &why)) {
        rt = NULL;
        if (why.kind == ERR_NONE) report_problems(cli, &problems);
        if (why.kind == ERR_NONE) error_set(&why, ERR_CONFIG, "the project is not valid: see harness validate");
        if (err) *err = why;
    }
    problems_clear(&problems);
    cli->listing = true;
    if (rt) cli_know(cli, runtime_project(rt));
    return rt;
}

bool trust_prompt_trusted(const Runtime *rt, bool *out, Error *err) {
    TrustState state;
    if (!trust_state(runtime_trust_subject(rt), getenv("HARNESS_TRUST"), &state, err)) return false;
    *out = state == TRUST_NOT_NEEDED || state == TRUST_GIVEN;
    return true;
}

void trust_prompt_explain(Cli *cli) {
    Buf text = { 0 };
    Runtime *rt = trust_prompt_read(cli, NULL, NULL);
    if (rt) trust_prompt_screen(runtime_trust_subject(rt), TRUST_MISSING, &text);
    (void)cli_write(STDERR_FILENO, buf_str(&text), false);
    runtime_close(rt);
    buf_clear(&text);
}
