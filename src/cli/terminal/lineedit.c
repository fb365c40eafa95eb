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
#include "cli/terminal/keys.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/width.h"

enum { HISTORY_LINES = 1000, PASTE_MAX = 1 << 20, ESCAPE_WAIT_MS = 30, SEQUENCE_MAX = 32 };
enum { ESCAPE = 033, KEY_CONTINUE = 034, KEY_DELETE = 035, KEY_PASTE = 036, KEY_NEWLINE = 037 };     /* from KEY_CONTINUE on: ours, never typed */

/* The functions of libedit in use. */
#define LIBEDIT(X) X(el_init) X(el_end) X(el_reset) X(el_gets) X(el_set) X(el_wset) X(el_line) X(el_insertstr) X(el_deletestr) X(el_cursor) \
                   X(el_resize) X(history_init) X(history_end) X(history)
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
    bool terminal, quiet, interrupted, typed;
    sigset_t mask;                       /* of the reader, with SIGINT unblocked */
    char *line;                          /* buffer of getline */
    size_t line_size;
    char input[4096]; size_t at, n;      /* bytes read from the terminal: n; of these consumed: at */
    char queue[4]; size_t n_queue;       /* keys that replace an escape sequence; read before `input` */
    Buf paste;                           /* inserted by KEY_PASTE */
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

/* ---- input ---- */

static char *show_prompt(EditLine *el) {
    (void)el;
    return (char *)(uintptr_t)reading->prompt;
}

/* Sets the editor's terminal modes and draws the prompt and the line below the cursor. */
static void draw_again(LineEdit *e) {
    e->lib.el_set(e->el, EL_PREP_TERM, 0);               /* otherwise libedit believes that the modes are still set */
    e->lib.el_set(e->el, EL_PREP_TERM, 1);
    e->lib.el_resize(e->el);
    e->lib.el_set(e->el, EL_REFRESH);
}

/* How far the cursor is below the prompt, at the terminal's present width. */
static size_t rows_above(LineEdit *e) {
    const LineInfo *line = e->lib.el_line(e->el);
    size_t columns = width_of_terminal(STDERR_FILENO), column = width_of(str_from(e->prompt)), rows = 0, n;
    for (Str text = { line->buffer, (size_t)(line->cursor - line->buffer) }; text.n; text = str_sub(text, n, text.n)) {
        utf8_decode(text, &n);
        size_t wide = width_of(str_sub(text, 0, n));
        bool breaks = text.at[0] == '\n' || column + wide > columns;
        rows += breaks;
        column = (breaks ? 0 : column) + wide;
    }
    return rows;
}

/* Terminals break long rows again when their width changes, so the cursor is not where the editor believes. */
static void fit_again(LineEdit *e) {
    Buf out = { 0 };
    size_t up = rows_above(e);
    buf_add_char(&out, '\r');
    if (up) buf_add_fmt(&out, "\033[%zuA", up);
    buf_add(&out, STR("\033[J"));
    (void)screen_write(STDERR_FILENO, buf_str(&out));
    buf_clear(&out);
    e->lib.el_resize(e->el);
    e->lib.el_set(e->el, EL_REFRESH);
}

/* A question of another thread comes first; the line is drawn again below it. */
static void make_way(LineEdit *e) {
    (void)screen_write(STDERR_FILENO, STR("\n\033[J"));
    keys_editing(false);
    screen_yield();
    keys_editing(true);
    draw_again(e);
}

/* Waits for a byte. SIGINT is unblocked only here, so none is lost before the wait. */
static bool wait_for_input(LineEdit *e) {
    for (;;) {
        struct pollfd in[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = screen_wanted_fd(), .events = POLLIN } };
        int n = ppoll(in, 2, NULL, &e->mask), error = errno;
        if (keys_continued()) {
            draw_again(e);
        } else if (n < 0 && error == EINTR && resized) {
            resized = 0;
            fit_again(e);
        } else if (n < 0) {
            e->interrupted = error == EINTR;
            return false;
        } else if (in[1].revents) {
            make_way(e);
        } else if (in[0].revents) {
            return true;
        }
    }
}

/* Fills the input from the keys that were kept, else from the terminal. 1, 0 at end of input, -1 after a signal. */
static ssize_t fill(LineEdit *e) {
    e->at = 0;
    e->n = e->quiet ? keys_take(e->input, sizeof e->input) : 0;
    if (e->n) return 1;
    if (!wait_for_input(e)) return -1;
    ssize_t n = read(STDIN_FILENO, e->input, sizeof e->input);
    if (n <= 0) return n < 0 && errno != EIO ? -1 : 0;                   /* EIO: the terminal was closed */
    e->n = (size_t)n;
    return 1;
}

/* 1, 0 at end of input, -1 after a signal. */
static ssize_t read_byte(LineEdit *e, char *out) {
    if (e->n_queue) {
        *out = e->queue[0];
        memmove(e->queue, e->queue + 1, --e->n_queue);
        return 1;
    }
    ssize_t got = e->at < e->n ? 1 : fill(e);
    if (got == 1) *out = e->input[e->at++];
    return got;
}

/* ---- escape sequences: libedit knows few of them, and would insert the rest of the others as text ---- */

/* Keys of the emacs map that replace an escape sequence. */
static const struct { const char *sequence, *keys; } sequences[] = {
    { "[A", "\020" },     { "OA", "\020" },     { "[B", "\016" },     { "OB", "\016" },     { "[C", "\006" },     { "OC", "\006" },
    { "[D", "\002" },     { "OD", "\002" },     { "[H", "\001" },     { "OH", "\001" },     { "[1~", "\001" },    { "[7~", "\001" },
    { "[F", "\005" },     { "OF", "\005" },     { "[4~", "\005" },    { "[8~", "\005" },    { "[3~", "\035" },
    { "[1;5D", "\033b" }, { "[5D", "\033b" },   { "Od", "\033b" },    { "[1;3D", "\033b" }, { "[1;9D", "\033b" }, { "\033[D", "\033b" },
    { "[1;5C", "\033f" }, { "[5C", "\033f" },   { "Oc", "\033f" },    { "[1;3C", "\033f" }, { "[1;9C", "\033f" }, { "\033[C", "\033f" },
    { "[3;5~", "\033d" }, { "[3;3~", "\033d" }, { "[13;2u", "\037" }, { "[13;3u", "\037" }, { "[13;5u", "\037" }, { "[27;2;13~", "\037" },
    { "[27;3;13~", "\037" }, { "[27;5;13~", "\037" }, { "\r", "\037" }, { "\n", "\037" },
};

/* Another byte of a sequence, if one comes soon: sequences arrive at once, keys after Escape do not. */
static bool read_soon(LineEdit *e, char *out) {
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    if (e->at == e->n && poll(&in, 1, ESCAPE_WAIT_MS) <= 0) return false;
    return read_byte(e, out) == 1;
}

static bool is_final(char c) { return c >= '@' && c <= '~'; }

/* Reads what belongs to an ESC: ESC [ … FINAL, ESC O LETTER, ESC CHARACTER. */
static size_t read_sequence(LineEdit *e, char text[SEQUENCE_MAX]) {
    size_t n = 0, start;
    char c = 0;
    if (!read_soon(e, &c)) return 0;
    text[n++] = c;
    if (c == ESCAPE && read_soon(e, &c)) text[n++] = c;                  /* rxvt's Alt with an arrow */
    start = n;
    if (c == 'O' && read_soon(e, &c)) text[n++] = c;
    if (c != '[' || start != n) return n;
    while (n < SEQUENCE_MAX && read_soon(e, &c)) {
        text[n++] = c;
        if (is_final(c)) break;
    }
    return n;
}

static void type_instead(LineEdit *e, const char *keys) {
    e->n_queue = strlen(keys);
    memcpy(e->queue, keys, e->n_queue);
}

/* ---- pasting: the terminal sends ESC [200~ and ESC [201~ around pasted text ---- */

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
        if (c == '~' && str_ends(buf_str(&e->paste), STR(end))) break;
        if (e->paste.n > PASTE_MAX) e->paste.n--;            /* drops the rest of a long paste, but still reads to its end */
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

/* ---- several lines ---- */

static unsigned char insert_newline(EditLine *el, int key) {
    (void)key;
    return reading->lib.el_insertstr(el, "\n") == 0 ? CC_REFRESH : CC_ERROR;
}

static bool ends_in_backslash(LineEdit *e) {
    const LineInfo *line = e->lib.el_line(e->el);
    return line->lastchar > line->buffer && line->lastchar[-1] == '\\';
}

/* Replaces the backslash at the end by a newline. */
static unsigned char continue_line(EditLine *el, int key) {
    const LineInfo *line = reading->lib.el_line(el);
    reading->lib.el_cursor(el, (int)(line->lastchar - line->cursor));    /* stops at the end */
    reading->lib.el_deletestr(el, 1);
    return insert_newline(el, key);
}

/* ---- libedit callbacks ---- */

typedef enum { GOT_END = -2, GOT_SIGNAL, GOT_NOTHING, GOT_KEY } Got;     /* NOTHING: a key without a meaning */

/* After an ESC. */
static Got read_escape(LineEdit *e, wchar_t *out) {
    char text[SEQUENCE_MAX];
    size_t n = read_sequence(e, text);
    Str sequence = { text, n };
    if (str_eq(sequence, STR("[200~"))) {
        *out = KEY_PASTE;
        return read_paste(e) ? GOT_KEY : GOT_SIGNAL;
    }
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        if (!str_eq(sequence, str_from(sequences[i].sequence))) continue;
        bool newline = sequences[i].keys[0] == KEY_NEWLINE;
        if (newline && !e->config.multiline) return GOT_NOTHING;
        *out = (unsigned char)sequences[i].keys[0];
        type_instead(e, sequences[i].keys + 1);
        return GOT_KEY;
    }
    if (n > 1) return GOT_NOTHING;                       /* a function key, a report of the terminal */
    *out = ESCAPE;
    if (n == 1 && text[0] != ESCAPE) {
        e->queue[0] = text[0];
        e->n_queue = 1;
    }
    return GOT_KEY;
}

static Got read_key(LineEdit *e, wchar_t *out) {
    char c[4];
    size_t n = 0, length = 1;
    bool replaced = e->n_queue > 0;
    while (n < length) {
        ssize_t got = read_byte(e, c + n);
        if (got <= 0) return got == 0 ? GOT_END : GOT_SIGNAL;
        unsigned char lead = (unsigned char)c[0];
        if (n++ == 0) length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    }
    if (!replaced && c[0] == ESCAPE) return read_escape(e, out);
    if (!replaced && c[0] >= KEY_CONTINUE && c[0] <= KEY_NEWLINE) return GOT_NOTHING;
    *out = (wchar_t)utf8_decode((Str){ c, n }, &length);
    if ((c[0] == '\r' || c[0] == '\n') && e->config.multiline && ends_in_backslash(e)) *out = KEY_CONTINUE;
    return GOT_KEY;
}

/* One character; a signal ends the line, which libedit's own reader would not allow. */
static int read_character(EditLine *el, wchar_t *out) {
    (void)el;
    Got got;
    do got = read_key(reading, out);
    while (got == GOT_NOTHING);
    return got == GOT_KEY ? 1 : got == GOT_END ? 0 : -1;
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
    (void)cli_write(STDERR_FILENO, STR("\n"), false);
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

typedef unsigned char EditFunction(EditLine *el, int key);

/* el_wset, because el_set would leak the names. */
static void bind_key(LineEdit *e, const char *key, const wchar_t *name, const char *function, EditFunction *run) {
    if (run) e->lib.el_wset(e->el, EL_ADDFN, name, L"of harness", run);
    e->lib.el_set(e->el, EL_BIND, key, function, NULL);
}

static void begin_editing(LineEdit *e) {
    if (!load(&e->lib)) return;
    if (!setlocale(LC_CTYPE, "C.UTF-8")) setlocale(LC_CTYPE, "");        /* for libedit's wide characters */
    if (!(e->el = e->lib.el_init("harness", stdin, stderr, stderr))) return;
    e->lib.el_set(e->el, EL_PROMPT, show_prompt);
    e->lib.el_set(e->el, EL_EDITOR, "emacs");
    e->lib.el_set(e->el, EL_GETCFN, read_character);
    begin_history(e);
    bind_key(e, "\\035", NULL, "ed-delete-next-char", NULL);
    if (e->config.multiline) {
        bind_key(e, "\\036", L"harness-paste", "harness-paste", insert_paste);
        bind_key(e, "\\037", L"harness-newline", "harness-newline", insert_newline);
        bind_key(e, "\\034", L"harness-continue", "harness-continue", continue_line);
    }
    if (e->config.complete) bind_key(e, "^I", L"harness-complete", "harness-complete", complete);
}

LineEdit *lineedit_new(const LineEditConfig *config) {
    LineEdit *e = mem_zero(1, sizeof *e);
    e->config = *config;
    e->terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    if (e->terminal) begin_editing(e);
    if (e->el && config->multiline) e->quiet = keys_open(STDIN_FILENO, true);
    return e;
}

bool lineedit_terminal(const LineEdit *e) { return e->terminal; }
bool lineedit_typed(const LineEdit *e) { return e->typed; }

void lineedit_free(LineEdit *e) {
    HistEvent event;
    if (e->history && e->config.history) e->lib.history(e->history, &event, H_SAVE, e->config.history);
    if (e->el) e->lib.el_end(e->el);
    if (e->history) e->lib.history_end(e->history);
    if (e->quiet) keys_close(true);
    buf_clear(&e->paste);
    free(e->line);
    free(e);
}

/* ---- reading ---- */

static LineRead read_plain(LineEdit *e, const char *prompt, Buf *out) {
    if (e->terminal) (void)cli_write(STDERR_FILENO, str_from(prompt), false);
    errno = 0;
    ssize_t n = getline(&e->line, &e->line_size, stdin);
    if (n >= 0) return buf_add(out, (Str){ e->line, (size_t)n }), LINE_READY;
    if (errno != EINTR) return LINE_END;
    clearerr(stdin);
    e->typed = false;
    return LINE_INTERRUPTED;
}

static void on_resize(int signal) {
    (void)signal;
    resized = 1;
}

static const char *edit_line(LineEdit *e, int *n) {
    reading = e;
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &e->mask);
    struct sigaction resize = { .sa_handler = on_resize }, before;
    sigemptyset(&resize.sa_mask);
    sigaction(SIGWINCH, &resize, &before);
    e->lib.el_resize(e->el);                             /* it may have changed since the last line */
    e->lib.el_set(e->el, EL_PREP_TERM, 1);               /* before the prompt is shown, so that keys typed from then on are read by the editor */
    const char *line = e->lib.el_gets(e->el, n);
    sigaction(SIGWINCH, &before, NULL);
    pthread_sigmask(SIG_SETMASK, &e->mask, NULL);
    return line;
}

/* Discards the line, and clears the part of it that is shown below the cursor. */
static void drop_line(LineEdit *e) {
    const LineInfo *line = e->lib.el_line(e->el);
    e->typed = line->lastchar > line->buffer;
    e->lib.el_reset(e->el);
    (void)screen_write(STDERR_FILENO, STR("\033[J"));
}

static LineRead read_edited(LineEdit *e, const char *prompt, Buf *out) {
    int n = 0;
    e->prompt = prompt;
    e->interrupted = false;
    (void)screen_hold(NULL);
    if (e->quiet) keys_editing(true);
    const char *line = edit_line(e, &n);
    if (e->interrupted) drop_line(e);
    if (e->quiet) keys_editing(false);
    screen_release();
    reading = NULL;
    if (e->interrupted) return LINE_INTERRUPTED;
    if (!line || n <= 0) return LINE_END;
    buf_add(out, (Str){ line, (size_t)n });
    HistEvent event;
    if (e->history && strspn(line, " \t\r\n") < (size_t)n) e->lib.history(e->history, &event, H_ENTER, line);
    return LINE_READY;
}

LineRead lineedit_read(LineEdit *e, const char *prompt, Buf *out) {
    return e->el ? read_edited(e, prompt, out) : read_plain(e, prompt, out);
}
