/* /undo: removes the last exchange, and puts back the files that write and edit changed in it. */
#include <unistd.h>
#include "cli/terminal/talk_private.h"
#include "value/json.h"

typedef struct Undoing { Doing *d; Run *run; RunRevert *files; size_t n, ready; const char **results; Arena arena; } Undoing;

static void add_name(Buf *out, Str name) { cli_escape_all(out, name, false); }

/* Lists the files, each with what /undo can do about it. */
static void show_files(Undoing *u) {
    Buf *out = &u->d->out;
    for (size_t i = 0; i < u->n; i++) {
        const RunRevert *f = &u->files[i];
        Buf name = { 0 }, what = { 0 };
        add_name(&name, f->name);
        if (f->state == REVERT_READY) {
            buf_add(&what, f->created ? STR("is removed: it was created") : STR("gets its old content back"));
        } else {
            buf_add(&what, STR("stays: "));
            cli_escape_all(&what, str_from(f->why), false);
        }
        talk_row(u->d, 24, buf_str(&name), buf_str(&what));
        buf_clear(&name);
        buf_clear(&what);
    }
    if (out->n) talk_show(u->d);
}

/* False: the user gave no answer, so nothing is undone. */
static bool ask(Undoing *u, bool *yes) {
    bool answered = true;
    *yes = false;
    if (u->ready == 0) return true;
    Buf question = { 0 };
    buf_add_fmt(&question, "put back %s? y yes · n no, only remove the exchange: ", u->ready == 1 ? "this file" : "these files");
    *yes = talk_yes(u->d->t, buf_str(&question), &answered);
    buf_clear(&question);
    return answered;
}

/* Files that cannot be put back are reported; the others are still put back. */
static void put_back(Undoing *u) {
    for (size_t i = 0; i < u->n; i++) {
        const RunRevert *f = &u->files[i];
        Error err = { 0 };
        if (f->state != REVERT_READY) continue;
        if (run_revert(u->run, f, &err)) {
            u->results[i] = f->created ? "removed" : "put back";
        } else {
            u->results[i] = arena_fmt(&u->arena, "not put back: %s", err.msg);
            talk_fail(u->d->t, &err);
        }
    }
}

/* For the event: [{path, result}]. */
static void write_files(const Undoing *u, Buf *out) {
    buf_add_char(out, '[');
    for (size_t i = 0; i < u->n; i++) {
        buf_add(out, i ? STR(",{\"path\":") : STR("{\"path\":"));
        json_write_string(out, u->files[i].name, false);
        buf_add(out, STR(",\"result\":"));
        json_write_string(out, str_from(u->results[i]), false);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static size_t count(const Undoing *u, const char *result) {
    size_t n = 0;
    for (size_t i = 0; i < u->n; i++) n += strcmp(u->results[i], result) == 0;
    return n;
}

static void say_undone(Undoing *u) {
    Buf *out = &u->d->out;
    size_t back = count(u, "put back"), removed = count(u, "removed");
    buf_add(out, STR("the last exchange was removed"));
    if (back) buf_add_fmt(out, "; %zu file%s put back", back, back == 1 ? "" : "s");
    if (removed) buf_add_fmt(out, "; %zu new file%s removed", removed, removed == 1 ? "" : "s");
    if (back + removed < u->n) buf_add_fmt(out, "; %zu file%s left as %s", u->n - back - removed, u->n - back - removed == 1 ? "" : "s",
                                           u->n - back - removed == 1 ? "it is" : "they are");
    if (u->n == 0) buf_add(out, STR("; it changed no file with write or edit"));
    buf_add_char(out, '\n');
}

/* Files first: after a crash in between, /undo finds them as they were and only removes the exchange. */
void talk_undo(Doing *d) {
    Undoing u = { .d = d, .run = session_run(d->t->session) };
    Error err = { 0 };
    Buf files = { 0 };
    size_t from;
    bool yes;
    if (!session_last_changes(d->t->session, &from, &err)) {
        talk_fail(d->t, &err);
        return;
    }
    u.n = run_revert_list(u.run, from, &u.arena, &u.files);
    u.results = ARENA_ARRAY(&u.arena, const char *, u.n + 1);
    for (size_t i = 0; i < u.n; i++) {
        u.ready += u.files[i].state == REVERT_READY;
        u.results[i] = u.files[i].state == REVERT_READY ? "left as it is" : run_revert_name(u.files[i].state);
    }
    show_files(&u);
    if (!ask(&u, &yes)) {
        buf_add(&d->out, STR("nothing was undone\n"));
    } else {
        if (yes) put_back(&u);
        if (u.n) write_files(&u, &files);
        if (session_undo(d->t->session, buf_str(&files), &err)) say_undone(&u);
        else talk_fail(d->t, &err);
    }
    buf_clear(&files);
    arena_clear(&u.arena);
}
