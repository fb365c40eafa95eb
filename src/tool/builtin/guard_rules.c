#include "tool/builtin/guard_rules.h"
#include "base/path.h"
#include "base/table.h"

static bool is(const ShellWord *w, const char *text) { return str_eq(w->text, str_from(text)); }

static bool is_one_of(Str s, const char *const *list) {
    for (; *list; list++)
        if (str_eq(s, str_from(*list))) return true;
    return false;
}

/* ---- devices ---- */

static bool is_harmless_device(Str name) {
    static const char *const names[] = { "null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "ptmx", "console", "fd", "log", "shm",
                                         "mqueue", NULL };
    static const char *const prefixes[] = { "fd/", "pts/", "shm/", "mqueue/", "tcp/", "udp/", "ttyS", "ttyUSB", "ttyACM" };
    if (is_one_of(name, names)) return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (str_starts(name, str_from(prefixes[i]))) return true;
    return false;
}

static Str absolute(Guard *g, const ShellWord *path) {
    return path->text.n && path->text.at[0] == '/' ? path_normal(g->arena, path->text) : STR("");
}

void guard_rules_write(Guard *g, const ShellWord *path, const char *what) {
    Str s = absolute(g, path);
    if (str_eq(s, STR("/proc/sysrq-trigger")))
        guard_raise(g, GUARD_REFUSE, "%s writes to " STR_FMT ", which can stop the machine", what, STR_ARG(s));
    if (!str_starts(s, STR("/dev/"))) return;
    Str name = str_sub(s, 5, s.n);
    if (is_harmless_device(name)) return;
    if (name.at[0] == SHELL_UNKNOWN) guard_raise(g, GUARD_CONFIRM, "%s writes to a device that cannot be known before it runs", what);
    else guard_raise(g, GUARD_REFUSE, "%s writes to the device " STR_FMT, what, STR_ARG(s));
}

void guard_rules_replace(Guard *g, const ShellWord *path, const char *what) {
    Str s = absolute(g, path);
    if (!str_eq(s, STR("/dev")) && !str_starts(s, STR("/dev/"))) return;
    if (str_eq(s, STR("/dev/shm")) || str_eq(s, STR("/dev/mqueue")) || str_starts(s, STR("/dev/shm/")) || str_starts(s, STR("/dev/mqueue/"))) return;
    guard_raise(g, GUARD_REFUSE, "%s the device " STR_FMT, what, STR_ARG(s));
}

/* ---- find ---- */

/* True for a test that excludes most files. */
static bool narrows(const ShellWord *words, size_t n, size_t i) {
    static const char *const tests[] = { "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-inum",
                                         "-empty", "-newer", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-size", "-perm", "-user",
                                         "-group", "-nouser", "-nogroup", "-samefile", "-links", "-newermt", NULL };
    if (!is_one_of(words[i].text, tests)) return false;
    if (is(&words[i], "-empty")) return true;
    Str pattern = i + 1 < n ? words[i + 1].text : STR("");
    for (size_t k = 0; k < pattern.n; k++)
        if (!strchr("*.?", pattern.at[k])) return true;
    return pattern.n == 0;
}

static bool removes(Str program) {
    static const char *const names[] = { "rm", "/bin/rm", "/usr/bin/rm", "unlink", "shred", NULL };
    return is_one_of(program, names);
}

/* find that deletes everything below a folder. */
void guard_rules_find(Guard *g, const ShellCommand *c) {
    static const char *const ors[] = { "-o", "-or", ",", NULL }, *const execs[] = { "-exec", "-execdir", NULL };
    bool narrow = false, removal = false;
    size_t deep = 0;
    for (size_t i = 1; i < c->words_n; i++) {
        const ShellWord *w = &c->words[i];
        bool negated = is(w - 1, "!") || is(w - 1, "-not");
        deep += is(w, "(");
        deep -= deep && is(w, ")");
        if (deep == 0 && is_one_of(w->text, ors)) narrow = false;
        narrow |= narrows(c->words, c->words_n, i) && !negated;
        bool exec = is_one_of(w->text, execs) && i + 1 < c->words_n && removes(w[1].text);
        removal |= !narrow && (exec || is(w, "-delete"));
    }
    if (removal) guard_raise(g, GUARD_REFUSE, "recursive forced removal (find removes all that it finds)");
}

/* ---- kill ---- */

/* Process 1 is init; -1 means every process. The word before it may be a signal. */
void guard_rules_kill(Guard *g, const ShellCommand *c) {
    bool signal = false;
    for (size_t i = 1; i < c->words_n; i++) {
        const ShellWord *w = &c->words[i];
        if (is(w, "-l") || is(w, "-L") || is(w, "-0")) return;
        bool all = is(w, "-1") && (signal || is(w - 1, "--"));
        if (is(w, "1") || all) guard_raise(g, GUARD_REFUSE, "the command ends every process, or the first one");
        signal |= w->text.n > 1 && w->text.at[0] == '-' && !is(w, "--");
        if (is(w, "-s") || is(w, "-n")) i++;
    }
}

/* ---- fork bombs ---- */

enum { REACH_MAX = 8, BOMB_WORK_MAX = 1 << 20 };

typedef struct { const ShellCommands *list; size_t work; } Bombs;

/* True if running `name` leads to a call of `goal`. */
static bool reaches(Bombs *b, Str name, Str goal, unsigned left) {
    if (str_eq(name, goal)) return true;
    for (size_t i = 0; left && i < b->list->n && b->work; i++) {
        const ShellCommand *c = &b->list->at[i];
        b->work--;
        if (c->program.n && str_eq(c->function, name) && reaches(b, c->program, goal, left - 1)) return true;
    }
    return false;
}

/* A function that calls itself in the background, or twice in one pipeline. */
static void judge_function(Guard *g, Bombs *b, Str name) {
    const ShellCommand *first = NULL;
    for (size_t i = 0; i < b->list->n && b->work; i++) {
        const ShellCommand *c = &b->list->at[i];
        b->work--;
        if (!c->program.n || !str_eq(c->function, name)) continue;
        if (!c->background && c->stages < 2) continue;
        if (!reaches(b, c->program, name, REACH_MAX)) continue;
        bool twice = first && first->pipeline == c->pipeline && first->stage != c->stage;
        if (c->background || twice) {
            guard_raise(g, GUARD_REFUSE, "a fork bomb: the function " STR_FMT " starts itself more than once", STR_ARG(name));
            return;
        }
        if (!first || first->pipeline != c->pipeline) first = c;
    }
}

static void judge_functions(Guard *g, Bombs *b) {
    Table seen = { 0 };
    for (size_t i = 0; i < b->list->n; i++) {
        Str name = b->list->at[i].function;
        if (!name.n || table_get(&seen, name)) continue;
        table_put(&seen, name, g);
        judge_function(g, b, name);
    }
    table_clear(&seen);
}

/* An endless loop that starts background processes and never waits. */
static void judge_loops(Guard *g, const ShellCommands *list) {
    static const char *const pauses[] = { "wait", "sleep", "break", "exit", "return", "read", "inotifywait", "timeout", NULL };
    for (size_t i = 0; i < list->n;) {
        uint32_t loop = list->at[i].loop;
        bool starts = false, pausing = false;
        size_t k = i;
        for (; k < list->n && list->at[k].loop == loop; k++) {
            starts |= list->at[k].background;
            pausing |= !list->at[k].background && is_one_of(list->at[k].program, pauses);
        }
        if (loop && starts && !pausing) guard_raise(g, GUARD_REFUSE, "a fork bomb: an endless loop starts processes in the background");
        i = k;
    }
}

void guard_rules_bombs(Guard *g, const ShellCommands *list) {
    Bombs b = { list, BOMB_WORK_MAX };
    judge_functions(g, &b);
    judge_loops(g, list);
    if (!b.work) guard_raise(g, GUARD_CONFIRM, "the command is too complex to be judged");
}
