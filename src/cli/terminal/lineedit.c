#include "cli/terminal/lineedit.h"

#include <dlfcn.h>
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/cli.h"

enum { HISTORY_LINES = 1000, PASTE_MAX = 1 << 20, PASTE_KEY = 0x1e, ESCAPE = 033, ESCAPE_WAIT_MS = 30 };

/* The functions of libedit in use. */
#define LIBEDIT(X) X(el_init) X(el_end) X(el_reset) X(el_gets) X(el_set) X(el_wset) X(el_line) X(el_insertstr) X(el_resize) \
                   X(history_init) X(history_end) X(history)
typedef struct Library {
    void *handle;
#define POINTER(name) __typeof__(name) *name;
    LIBEDIT(POINTER)
#undef POINTER
} Library;

struct LineEdit {
    LineEditConfig config;
    Library lib;
    EditLine *el;                        /* NULL: plain reading */
    History *history;
    const char *prompt;
    bool terminal, interrupted;
    sigset_t mask;                       /* of the reader, with SIGINT unblocked */
    char *line;                          /* buffer of getline */
    size_t line_size;
    char queue[8]; size_t n_queue;       /* read, but not yet passed to libedit */
    Buf paste;                           /* inserted by PASTE_KEY */
};

/* The one inside el_gets, or NULL. libedit's callbacks get no context, and a process has one terminal. */
static LineEdit *reading;
static volatile sig_atomic_t resized;    /* set by a signal handler */

/* Never unloaded: it uses the terminal library, which does not free its tables. */
static bool load(Library *lib) {
    if (!(lib->handle = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL))) return false;
    bool all = true;
#define FIND(name) *(void **)&lib->name = dlsym(lib->handle, #name), all = all && lib->name;
    LIBEDIT(FIND)
#undef FIND
    return all;
}

/* ---- libedit callbacks ---- */

static char *show_prompt(EditLine *el) {
    (void)el;
    return (char *)(uintptr_t)reading->prompt;
}

/* Waits for a byte. SIGINT is unblocked only here, so none is lost before the wait. */
static bool wait_for_input(LineEdit *e) {
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    while (ppoll(&in, 1, NULL, &e->mask) < 0) {
        if (errno == EINTR && resized) {
            resized = 0;
            e->lib.el_resize(e->el);
            continue;
        }
        e->interrupted = errno == EINTR;
        return false;
    }
    return true;
}

/* 1, 0 at end of input, -1 after a signal. */
static ssize_t read_byte(LineEdit *e, char *out) {
    if (e->n_queue) {
        *out = e->queue[0];
        memmove(e->queue, e->queue + 1, --e->n_queue);
        return 1;
    }
    return wait_for_input(e) ? read(STDIN_FILENO, out, 1) : -1;
}

/* ---- pasting: the terminal sends ESC [200~ and ESC [201~ around pasted text ---- */

/* After an ESC: true if a paste starts. Other bytes wait in the queue. */
static bool paste_begins(LineEdit *e) {
    static const char rest[] = "[200~";
    if (!e->config.paste || e->n_queue) return false;
    while (e->n_queue < sizeof rest - 1) {
        struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
        char c;
        if (poll(&in, 1, ESCAPE_WAIT_MS) <= 0 || read(STDIN_FILENO, &c, 1) != 1) return false;
        e->queue[e->n_queue++] = c;
        if (c != rest[e->n_queue - 1]) return false;
    }
    e->n_queue = 0;
    return true;
}

/* Lines end in "\n"; removes other characters that move the cursor. */
static void tidy_paste(Buf *b) {
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        char c = b->at[i];
        if (c == '\r' && i + 1 < b->n && b->at[i + 1] == '\n') continue;
        if (c == '\r') c = '\n';
        if ((unsigned char)c >= ' ' ? c != 127 : c == '\n' || c == '\t') b->at[n++] = c;
    }
    while (n && b->at[n - 1] == '\n') n--;
    b->n = n;
    if (b->at) b->at[n] = 0;
}

static bool read_paste(LineEdit *e) {
    static const char end[] = "\033[201~";
    buf_reset(&e->paste);
    for (;;) {
        char c;
        if (read_byte(e, &c) != 1) return false;
        buf_add_char(&e->paste, c);
        if (str_ends(buf_str(&e->paste), STR(end))) break;
        if (e->paste.n > PASTE_MAX) e->paste.n--;            /* drops the rest, but still waits for the end */
    }
    e->paste.n -= sizeof end - 1;
    tidy_paste(&e->paste);
    return true;
}

static unsigned char insert_paste(EditLine *el, int key) {
    (void)key;
    LineEdit *e = reading;
    bool ok = e->paste.n && e->lib.el_insertstr(el, e->paste.at) == 0;
    buf_reset(&e->paste);
    return ok ? CC_REFRESH : CC_NORM;
}

/* One character; a signal ends the line, which libedit's own reader would not allow. */
static int read_character(EditLine *el, wchar_t *out) {
    (void)el;
    char c[4];
    size_t n = 0, length = 1;
    while (n < length) {
        ssize_t got = read_byte(reading, c + n);
        if (got <= 0) return (int)got;
        if (n == 0 && c[0] == ESCAPE && paste_begins(reading)) {
            if (!read_paste(reading)) return -1;
            *out = PASTE_KEY;
            return 1;
        }
        unsigned char lead = (unsigned char)c[0];
        if (n++ == 0) length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    }
    *out = (wchar_t)utf8_decode((Str){ c, n }, &length);
    return 1;
}

static size_t common_prefix(const LineWords *words) {
    size_t n = strlen(words->at[0]);
    for (size_t i = 1; i < words->n; i++) {
        size_t k = 0;
        while (k < n && words->at[0][k] == words->at[i][k]) k++;
        n = k;
    }
    return n;
}

static void list_words(const LineWords *words) {
    fputc('\n', stderr);
    for (size_t i = 0; i < words->n; i++) {
        (void)cli_write(STDERR_FILENO, str_from(words->at[i]), false);
        (void)cli_write(STDERR_FILENO, i + 1 < words->n ? STR("  ") : STR("\n"), false);
    }
}

static unsigned char complete(EditLine *el, int key) {
    (void)key;
    LineEdit *e = reading;
    const LineInfo *line = e->lib.el_line(el);
    LineWords words = { 0 };
    size_t typed = 0;
    e->config.complete(e->config.ctx, (Str){ line->buffer, (size_t)(line->cursor - line->buffer) }, &words, &typed);
    unsigned char result = CC_ERROR;
    if (words.n) {
        size_t n = common_prefix(&words);
        if (n > typed) {
            char *more = mem_alloc(n - typed + 1);
            memcpy(more, words.at[0] + typed, n - typed);
            more[n - typed] = 0;
            if (e->lib.el_insertstr(el, more) == 0) result = CC_REFRESH;
            free(more);
        } else if (words.n > 1) {
            list_words(&words);
            result = CC_REDISPLAY;
        }
    }
    for (size_t i = 0; i < words.n; i++) free(words.at[i]);
    VEC_CLEAR(&words);
    return result;
}

/* ---- lifetime ---- */

static void begin_history(LineEdit *e) {
    HistEvent event;
    if (!(e->history = e->lib.history_init())) return;
    e->lib.history(e->history, &event, H_SETSIZE, HISTORY_LINES);
    e->lib.history(e->history, &event, H_SETUNIQUE, 1);
    if (e->config.history) e->lib.history(e->history, &event, H_LOAD, e->config.history);
    e->lib.el_set(e->el, EL_HIST, e->lib.history, e->history);
}

static void begin_editing(LineEdit *e) {
    if (!load(&e->lib)) return;
    if (!setlocale(LC_CTYPE, "C.UTF-8")) setlocale(LC_CTYPE, "");        /* for libedit's wide characters */
    if (!(e->el = e->lib.el_init("harness", stdin, stderr, stderr))) return;
    e->lib.el_set(e->el, EL_PROMPT, show_prompt);
    e->lib.el_set(e->el, EL_EDITOR, "emacs");
    e->lib.el_set(e->el, EL_GETCFN, read_character);
    begin_history(e);
    if (e->config.paste) {
        e->lib.el_wset(e->el, EL_ADDFN, L"harness-paste", L"insert what was pasted", insert_paste);
        e->lib.el_set(e->el, EL_BIND, "^^", "harness-paste", NULL);
    }
    if (!e->config.complete) return;
    e->lib.el_wset(e->el, EL_ADDFN, L"harness-complete", L"complete the name before the cursor", complete);  /* el_set would leak them */
    e->lib.el_set(e->el, EL_BIND, "^I", "harness-complete", NULL);
}

LineEdit *lineedit_new(const LineEditConfig *config) {
    LineEdit *e = mem_zero(1, sizeof *e);
    e->config = *config;
    e->terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    if (e->terminal) begin_editing(e);
    return e;
}

bool lineedit_terminal(const LineEdit *e) { return e->terminal; }

void lineedit_free(LineEdit *e) {
    HistEvent event;
    if (e->history && e->config.history) e->lib.history(e->history, &event, H_SAVE, e->config.history);
    if (e->el) e->lib.el_end(e->el);
    if (e->history) e->lib.history_end(e->history);
    buf_clear(&e->paste);
    free(e->line);
    free(e);
}

/* ---- reading ---- */

static LineRead read_plain(LineEdit *e, const char *prompt, Buf *out) {
    if (e->terminal) fputs(prompt, stderr);
    errno = 0;
    ssize_t n = getline(&e->line, &e->line_size, stdin);
    if (n >= 0) return buf_add(out, (Str){ e->line, (size_t)n }), LINE_READY;
    if (errno != EINTR) return LINE_END;
    clearerr(stdin);
    return LINE_INTERRUPTED;
}

static void on_resize(int signal) {
    (void)signal;
    resized = 1;
}

static void ask_for_paste(const LineEdit *e, bool on) {
    if (e->config.paste) (void)!write(STDERR_FILENO, on ? "\033[?2004h" : "\033[?2004l", 8);
}

static LineRead read_edited(LineEdit *e, const char *prompt, Buf *out) {
    int n = 0;
    e->prompt = prompt;
    e->interrupted = false;
    reading = e;
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &e->mask);
    struct sigaction resize = { .sa_handler = on_resize }, before;
    sigemptyset(&resize.sa_mask);
    sigaction(SIGWINCH, &resize, &before);
    e->lib.el_resize(e->el);                             /* it may have changed since the last line */
    ask_for_paste(e, true);
    e->lib.el_set(e->el, EL_PREP_TERM, 1);               /* before the prompt is shown: input typed from then on is for
                                                          * us */
    const char *line = e->lib.el_gets(e->el, &n);
    ask_for_paste(e, false);
    sigaction(SIGWINCH, &before, NULL);
    pthread_sigmask(SIG_SETMASK, &e->mask, NULL);
    reading = NULL;
    if (e->interrupted) return e->lib.el_reset(e->el), LINE_INTERRUPTED;
    if (!line || n <= 0) return LINE_END;
    buf_add(out, (Str){ line, (size_t)n });
    HistEvent event;
    if (e->history && strspn(line, " \t\r\n") < (size_t)n) e->lib.history(e->history, &event, H_ENTER, line);
    return LINE_READY;
}

LineRead lineedit_read(LineEdit *e, const char *prompt, Buf *out) {
    return e->el ? read_edited(e, prompt, out) : read_plain(e, prompt, out);
}
