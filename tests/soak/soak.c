/* Uses a project for a long time in one process: soak PROJECT STATE CALLS RUNS THREADS. Each run is a conversation with
 * sub-agents, followed by its share of the calls, of every kind and outcome. Prints a table of memory, open files,
 * threads and children, and fails if one of them grows between the middle and the end. */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/session.h"
#include "base/clock.h"

enum { SLICES = 10, THREADS_MAX = 64 };

/* Selects the nth of a hundred calls. The shares are realistic, except for a higher share of failures. */
typedef struct Kind { const char *tool, *arguments; int share; bool fails; } Kind;
static const Kind kinds[] = {
    { "sum", "{\"numbers\": [1, 2.5, -3, 4e2]}", 45, false },
    { "read", "{\"path\": \"text.txt\", \"limit\": 20}", 15, false },
    { "grep", "{\"pattern\": \"line 1[0-9] \", \"path\": \"text.txt\"}", 10, false },
    { "note", "{\"text\": \"something to keep\"}", 6, false },
    { "glob", "{\"pattern\": \"**/*.md\"}", 4, false },
    { "sum", "{\"numbers\": \"none\"}", 4, true },
    { "sum", "{\"numbers\": [1, 2", 3, true },
    { "broken", "{}", 3, true },
    { "forbidden", "{}", 3, true },
    { "guarded", "{}", 3, true },
    { "nothing_like_it", "{}", 1, true },
    { "large", "{}", 1, false },
    { "program", "{}", 1, false },
    { "later", "{}", 1, false },
};

typedef struct Soak {
    Runtime *rt; Agents *agents; const char *state;
    long calls_each, runs;               /* calls per run; runs per slice */
    int threads;
    atomic_long calls_done, runs_done, next;
    atomic_bool failed;
} Soak;

static void give_up(Soak *s, const char *what, const char *why) {
    if (!atomic_exchange(&s->failed, true)) fprintf(stderr, "soak: %s: %s\n", what, why);
}

/* ---- work ---- */

static const Kind *kind_of(long n) {
    long at = n * 37 % 100;              /* all hundred, in a mixed order */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((at -= kinds[i].share) < 0) return &kinds[i];
    return &kinds[0];
}

static void one_call(Soak *s, Run *run, const Kind *k) {
    Call call = { .name = str_from(k->tool), .arguments = str_from(k->arguments), .wait = true };
    Result r = { 0 };
    Error err = { 0 };
    if (!run_turn_start(run, (Str){ 0 }, &err) || !tool_call(run, &call, NULL, &r, &err)) give_up(s, k->tool, err.msg);
    else if (r.is_error != k->fails) give_up(s, k->tool, r.is_error ? "failed, and should not" : "did not fail, and should");
    result_clear(&r);
    atomic_fetch_add(&s->calls_done, 1);
}

static void one_run(Soak *s) {
    Session *session;
    SessionReply reply = { 0 };
    Error err = { 0 };
    if (!session_open(s->agents, &(SessionConfig){ 0 }, &(RunConfig){ 0 }, false, &session, &err)) {
        give_up(s, "session", err.msg);
        return;
    }
    if (!session_say(session, STR("go"), NULL, &reply, &err)) give_up(s, "say", err.msg);
    else if (reply.status != RUN_COMPLETED) give_up(s, "answer", reply.reason);
    atomic_fetch_add(&s->calls_done, reply.tool_calls + 2);              /* the sub-agents' own */
    for (long n = reply.tool_calls + 2; n < s->calls_each && !s->failed; n++) one_call(s, session_run(session), kind_of(n));
    session_reply_clear(&reply);
    if (!session_close(session, &err)) give_up(s, "close", err.msg);
    atomic_fetch_add(&s->runs_done, 1);
}

static void *worker(void *arg) {
    Soak *s = arg;
    while (!s->failed && atomic_fetch_sub(&s->next, 1) > 0) one_run(s);
    return NULL;
}

static void slice(Soak *s, long runs) {
    pthread_t threads[THREADS_MAX];
    int n = 0;
    s->next = runs;
    while (n < s->threads && pthread_create(&threads[n], NULL, worker, s) == 0) n++;
    if (n == 0) give_up(s, "threads", "none could be started");
    while (n > 0) pthread_join(threads[--n], NULL);
}

/* ---- measurement ---- */

typedef struct Measure { long used_kb, resident_kb, files, threads, children, store_kb; } Measure;

static long count_entries(const char *path) {
    long n = 0;
    DIR *dir = opendir(path);
    if (!dir) return -1;
    while (readdir(dir)) n++;
    closedir(dir);
    return n - 2;
}

/* The number in the last `...KEY="NUMBER"` after `tag`. */
static long last_number(const char *text, const char *tag, const char *key) {
    const char *found = NULL;
    for (const char *at = text; (at = strstr(at, tag)); at++) found = at;
    const char *value = found ? strstr(found, key) : NULL;
    return value ? atol(value + strlen(key)) : 0;
}

/* Memory in use in all malloc arenas. */
static long used_kb(void) {
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    if (!f) return 0;
    malloc_info(0, f);
    fclose(f);
    long used = last_number(text, "<system type=\"current\"", "size=\"") - last_number(text, "<total type=\"fast\"", "size=\"")
                - last_number(text, "<total type=\"rest\"", "size=\"") + last_number(text, "<total type=\"mmap\"", "size=\"");
    free(text);
    return used / 1024;
}

static long status_number(const char *key) {
    char line[256];
    long n = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0) n = atol(line + strlen(key));
    if (f) fclose(f);
    return n;
}

static long children(void) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    long spaces = 0;
    for (size_t i = 0; i < n; i++) spaces += text[i] == ' ';
    if (f) fclose(f);
    return spaces;
}

static Measure measure(const Soak *s) {
    struct stat st = { 0 };
    malloc_trim(0);
    stat(s->state, &st);
    return (Measure){ used_kb(), status_number("VmRSS:"), count_entries("/proc/self/fd"), status_number("Threads:"), children(), (long)(st.st_size / 1024) };
}

static void print(const Soak *s, const Measure *m, double seconds) {
    printf("%8ld %7ld %8.1f %10ld %12ld %6ld %8ld %9ld %10ld\n", atomic_load(&s->calls_done), atomic_load(&s->runs_done), seconds, m->used_kb,
           m->resident_kb, m->files, m->threads, m->children, m->store_kb);
    fflush(stdout);
}

/* Nothing may grow after the middle, when all caches are full. Detects a leak of a few bytes per call. */
static int grew(const char *what, long middle, long end, long allowed) {
    if (end <= middle + allowed) return 0;
    printf("%s grew from %ld to %ld\n", what, middle, end);
    return 1;
}

static bool judge(const Measure *middle, const Measure *end) {
    const char *memory = getenv("SOAK_MEMORY");
    int bad = grew("open files", middle->files, end->files, 0) + grew("threads", middle->threads, end->threads, 0)
              + grew("children", middle->children, end->children, 2);     /* one may still be exiting */
    if (memory && strcmp(memory, "0") == 0) return bad == 0;              /* a sanitizer delays frees, and finds leaks itself */
    return bad + grew("used memory (KiB)", middle->used_kb, end->used_kb, 128)
           + grew("resident memory (KiB)", middle->resident_kb, end->resident_kb, 2048 + middle->resident_kb / 20) == 0;
}

/* ---- main ---- */

static bool soak(Soak *s, long runs) {
    Measure middle = { 0 }, m = { 0 };
    int64_t start = clock_mono_ns();
    printf("%8s %7s %8s %10s %12s %6s %8s %9s %10s\n", "calls", "runs", "seconds", "used KiB", "resident KiB", "files", "threads", "children", "store KiB");
    for (int i = 0; i < SLICES && !s->failed; i++) {
        slice(s, runs * (i + 1) / SLICES - runs * i / SLICES);
        m = measure(s);
        if (i == SLICES / 2 - 1) middle = m;
        print(s, &m, (double)(clock_mono_ns() - start) / 1e9);
    }
    if (s->failed || !judge(&middle, &m)) return false;
    printf("nothing grew\n");
    return true;
}

static bool open_project(Soak *s, const char *dir) {
    Problems problems = { 0 };
    Error err = { 0 };
    RuntimeConfig config = { .dir = dir, .state = s->state, .trusted = true };
    bool ok = runtime_open(&config, &s->rt, &problems, &err) && agent_set_new(s->rt, &(AgentsConfig){ 0 }, &s->agents, &err);
    if (!ok) fprintf(stderr, "soak: %s: %s\n", dir, err.kind ? err.msg : "not valid");
    problems_clear(&problems);
    return ok;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: soak PROJECT STATE CALLS RUNS THREADS\n");
        return 2;
    }
    long calls = atol(argv[3]), runs = atol(argv[4]);
    Soak s = { .state = argv[2], .threads = atoi(argv[5]) };
    if (runs < SLICES || calls < runs || s.threads < 1 || s.threads > THREADS_MAX) {
        fprintf(stderr, "soak: at least %d runs, a call for each, and 1 to %d threads\n", SLICES, THREADS_MAX);
        return 2;
    }
    s.calls_each = calls / runs;
    bool ok = open_project(&s, argv[1]) && soak(&s, runs);
    agent_set_free(s.agents);
    runtime_close(s.rt);
    return ok ? 0 : 1;
}
