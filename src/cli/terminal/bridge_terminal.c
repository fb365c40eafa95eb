#include "cli/terminal/bridge_terminal.h"
#include <dirent.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include "cli/terminal/confirm_terminal.h"

enum { SHOWN_MAX = 20, FOUND_MAX = 200, ENTRIES_MAX = 10000 };

/* ---- names ---- */

/* The numbers of a text that consists of numbers, commas and spaces. 0: it does not, or a number is not in the list. */
static size_t by_number(size_t n, Str typed, size_t *at, size_t max) {
    size_t count = 0;
    for (size_t i = 0; i < typed.n;) {
        if (typed.at[i] == ',' || typed.at[i] == ' ') {
            i++;
            continue;
        }
        size_t number = 0, from = i;
        while (i < typed.n && typed.at[i] >= '0' && typed.at[i] <= '9' && i - from < 6) number = number * 10 + (size_t)(typed.at[i++] - '0');
        if (i == from || number == 0 || number > n || count == max) return 0;
        at[count++] = number - 1;
    }
    return count;
}

typedef enum { EQUAL, BEGINS, CONTAINS } How;

static bool matches(Str name, Str typed, How how) {
    if (typed.n > name.n) return false;
    if (how == EQUAL) return name.n == typed.n && strncasecmp(name.at, typed.at, typed.n) == 0;
    if (how == BEGINS) return strncasecmp(name.at, typed.at, typed.n) == 0;
    for (size_t i = 0; i + typed.n <= name.n; i++)
        if (strncasecmp(name.at + i, typed.at, typed.n) == 0) return true;
    return false;
}

/* The names that the text selects by number ("2", "1,3"), else those that it completes: that are equal to it, else begin with it, else contain it. Writes at
 * most `max` indexes and returns how many there are. */
static size_t complete(const Str *names, size_t n, Str typed, size_t *at, size_t max) {
    size_t count = by_number(n, typed, at, max);
    for (How how = EQUAL; !count && typed.n && how <= CONTAINS; how++)
        for (size_t i = 0; i < n; i++)
            if (matches(names[i], typed, how) && count++ < max) at[count - 1] = i;
    return count;
}

/* ---- dialogs ---- */

/* Indents text from outside: only harness's own lines start at the left edge. */
static void add_indented(Buf *out, Str text) {
    for (Str line; str_next_line(&text, &line);) {
        buf_add(out, STR("  "));
        cli_escape_all(out, line, false);
        buf_add_char(out, '\n');
    }
}

static void add_head(Buf *out, const char *what, const BridgeAsk *ask) {
    buf_add_fmt(out, "%s from ", what);
    cli_escape_all(out, ask->label, false);
    buf_add(out, STR(": "));
    cli_escape_all(out, ask->title, false);
    buf_add_char(out, '\n');
    add_indented(out, ask->text);
}

static void add_numbered(Buf *out, const Str *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        buf_add_fmt(out, "  %zu ", i + 1);
        cli_escape_all(out, names[i], false);
        buf_add_char(out, '\n');
    }
}

/* One question. False: cancelled (*err). *closed: end of file, or an empty line. */
static bool question(Terminal *t, Buf *text, Buf *line, Str *said, bool *closed, Cancel *cancel, Error *err) {
    buf_reset(line);
    bool answered = confirm_terminal_question(t, buf_str(text), cancel, line);
    buf_reset(text);
    if (!answered && !cancel_check(cancel, err)) return false;
    *said = answered ? str_trim(buf_str(line)) : STR("");
    *closed = said->n == 0;
    return true;
}

static bool show_dialog(Terminal *t, const BridgeAsk *ask, BridgeAnswer *out, Cancel *cancel, Error *err) {
    Buf text = { 0 }, line = { 0 };
    Str said;
    bool ok;
    add_head(&text, "dialog", ask);
    for (size_t at = 0;;) {
        add_numbered(&text, ask->buttons, ask->n_buttons);
        buf_add(&text, STR("number or button (empty closes)> "));
        ok = question(t, &text, &line, &said, &out->closed, cancel, err);
        if (!ok || out->closed) break;
        if (complete(ask->buttons, ask->n_buttons, said, &at, 1) == 1) {
            out->button = at;
            break;
        }
    }
    buf_clear(&text);
    buf_clear(&line);
    return ok;
}

/* ---- the file picker ---- */

/* The list that is shown, and what was picked so far. */
typedef struct Picking {
    const BridgeAsk *ask;
    BridgeAnswer *out;
    Str list[FOUND_MAX];                 /* in the arena of `out` */
    size_t n;
    bool more;                           /* the list is not complete */
} Picking;

static Str copy(Picking *p, Str s) { return arena_str(&p->out->arena, s); }

static Str in_home(Picking *p, Str typed) {
    const char *home = getenv("HOME");
    if (!home || !(str_eq(typed, STR("~")) || str_starts(typed, STR("~/")))) return typed;
    return str_from(arena_fmt(&p->out->arena, "%s" STR_FMT, home, STR_ARG(str_sub(typed, 1, typed.n))));
}

static int by_name(const void *a, const void *b) { return str_cmp(*(const Str *)a, *(const Str *)b); }

/* Lists the entries of a folder that begin like the last part of the path; folders end with a slash. Lists names that begin with a period
 * only if the input does, too. */
static void list_folder(Picking *p, Str path) {
    size_t cut = path.n;
    while (cut > 0 && path.at[cut - 1] != '/') cut--;
    Str folder = copy(p, str_sub(path, 0, cut)), start = str_sub(path, cut, path.n);
    DIR *d = opendir(folder.at);
    p->n = 0;
    p->more = false;
    int seen = 0;
    for (struct dirent *e; d && seen++ < ENTRIES_MAX && (e = readdir(d));) {
        struct stat st;
        if (!str_starts(str_from(e->d_name), start) || (e->d_name[0] == '.' && !start.n)) continue;
        if (fstatat(dirfd(d), e->d_name, &st, 0) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) continue;
        if (p->n == FOUND_MAX) {
            p->more = true;
            break;
        }
        p->list[p->n++] = str_from(arena_fmt(&p->out->arena, STR_FMT "%s%s", STR_ARG(folder), e->d_name, S_ISDIR(st.st_mode) ? "/" : ""));
    }
    if (d) closedir(d);
    if (p->n) qsort(p->list, p->n, sizeof *p->list, by_name);
}

/* Completes in the workspace. */
static void list_offered(Picking *p, Str typed) {
    size_t at[FOUND_MAX];
    size_t n = complete(p->ask->files, p->ask->n_files, typed, at, FOUND_MAX);
    p->n = n < FOUND_MAX ? n : FOUND_MAX;
    p->more = n > FOUND_MAX;
    for (size_t i = 0; i < p->n; i++) p->list[i] = p->ask->files[at[i]];
}

static void list_all(Picking *p) {
    p->n = p->ask->n_files < FOUND_MAX ? p->ask->n_files : FOUND_MAX;
    p->more = p->ask->more_files || p->ask->n_files > p->n;
    for (size_t i = 0; i < p->n; i++) p->list[i] = p->ask->files[i];
}

static bool is_folder(Str path) { return str_ends(path, STR("/")); }

/* Adds the file to the picked ones, or tells the user why it cannot be picked. */
static bool pick(Picking *p, Str path, Buf *text) {
    Error why = { 0 };
    if (!p->ask->check(p->ask->ctx, path, true, &why)) {
        cli_escape_all(text, str_from(why.msg), false);
        buf_add_char(text, '\n');
        return false;
    }
    if (str_among(path, p->out->files, p->out->n_files)) return true;
    p->out->files[p->out->n_files++] = copy(p, path);
    buf_add(text, STR("picked "));
    cli_escape_all(text, path, false);
    buf_add_char(text, '\n');
    return true;
}

static bool full(const Picking *p) { return p->out->n_files == (p->ask->multiple ? BRIDGE_FILES_MAX : 1); }

static void pick_numbers(Picking *p, const size_t *at, size_t n, Buf *text) {
    if (n > 1 && !p->ask->multiple) {
        buf_add(text, STR("only one file can be picked\n"));
        return;
    }
    if (n == 1 && is_folder(p->list[at[0]])) {
        list_folder(p, p->list[at[0]]);
        return;
    }
    for (size_t i = 0; i < n && !full(p); i++) (void)pick(p, p->list[at[i]], text);
}

/* A number of the list, a path, or the beginning of one. */
static void take(Picking *p, Str said, Buf *text) {
    size_t at[FOUND_MAX];
    size_t numbers = by_number(p->n < SHOWN_MAX ? p->n : SHOWN_MAX, said, at, FOUND_MAX);
    Error ignored;
    if (numbers) {
        pick_numbers(p, at, numbers, text);
        return;
    }
    Str path = in_home(p, said);
    if (!is_folder(path) && p->ask->check(p->ask->ctx, path, true, &ignored)) {
        (void)pick(p, path, text);
        return;
    }
    bool anywhere = path.n && (path.at[0] == '/' || path.at[0] == '.');
    struct stat st;
    bool exists = anywhere && stat(copy(p, path).at, &st) == 0;
    if (exists && !S_ISDIR(st.st_mode)) {                 /* a complete path, which was refused */
        (void)pick(p, path, text);
        return;
    }
    if (exists && !is_folder(path)) path = str_from(arena_fmt(&p->out->arena, STR_FMT "/", STR_ARG(path)));
    if (anywhere) list_folder(p, path);
    else list_offered(p, path);
    while (p->n == 1 && is_folder(p->list[0]) && anywhere) list_folder(p, p->list[0]);
    if (p->n == 1) (void)pick(p, p->list[0], text);
    else if (p->n == 0) (void)pick(p, path, text), list_all(p);      /* tells the user why not */
}

static void add_list(const Picking *p, Buf *text) {
    size_t n = p->n < SHOWN_MAX ? p->n : SHOWN_MAX;
    add_numbered(text, p->list, n);
    if (p->more || p->n > n) buf_add(text, STR("  … and more: type the beginning or a part of the path\n"));
    buf_add(text, p->ask->multiple ? STR("numbers or path, / or ~/ for other folders (empty ends)> ")
        : STR("number or path, / or ~/ for other folders (empty closes)> "));
}

static bool show_picker(Terminal *t, const BridgeAsk *ask, BridgeAnswer *out, Cancel *cancel, Error *err) {
    Picking p = { .ask = ask, .out = out };
    Buf text = { 0 }, line = { 0 };
    Str said;
    bool ok = true, closed = false;
    add_head(&text, "file picker", ask);
    list_all(&p);
    while (ok && !closed && !full(&p)) {
        add_list(&p, &text);
        ok = question(t, &text, &line, &said, &closed, cancel, err);
        if (ok && !closed) take(&p, said, &text);
    }
    if (text.n) confirm_terminal_say(t, buf_str(&text));
    out->closed = out->n_files == 0;
    buf_clear(&text);
    buf_clear(&line);
    return ok;
}

bool bridge_terminal_show(void *terminal, const BridgeAsk *ask, BridgeAnswer *out, Cancel *cancel, Error *err) {
    Terminal *t = terminal;
    if (ask->kind == BRIDGE_DIALOG) return show_dialog(t, ask, out, cancel, err);
    if (ask->kind == BRIDGE_PICK) return show_picker(t, ask, out, cancel, err);
    Buf text = { 0 };
    add_head(&text, "notification", ask);
    confirm_terminal_say(t, buf_str(&text));
    buf_clear(&text);
    return true;
}
