#include "cli/terminal/answer.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/terminal/width.h"

enum { ESCAPE = 033, CTRL_D = 4, CTRL_H = 8, CTRL_U = 21, CTRL_W = 23, DELETE = 127, SEQUENCE_MAX = 16 };

typedef struct Answer {
    int fd;
    Cancel *cancel;
    Buf *out;
    size_t from;                         /* where the answer starts in out */
    char part[4]; size_t n_part;         /* an incomplete character */
    char sequence[SEQUENCE_MAX]; size_t n_sequence;      /* after an ESC; 0: none */
    bool pasting;
} Answer;

static bool read_byte(Answer *a, char *c) {
    for (;;) {
        struct pollfd fds[] = { { a->fd, POLLIN, 0 }, { cancel_fd(a->cancel), POLLIN, 0 } };
        int n = poll(fds, 2, cancel_poll_ms(a->cancel));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0 || fds[1].revents) return false;
        ssize_t got = read(a->fd, c, 1);
        if (got < 0 && errno == EINTR) continue;
        return got == 1;
    }
}

static void drop_character(Answer *a) {
    size_t end = a->out->n;
    if (end == a->from) return;
    do end--;
    while (end > a->from && ((unsigned char)a->out->at[end] & 0xc0) == 0x80);
    size_t columns = width_of(str_sub(buf_str(a->out), end, a->out->n));
    a->out->n = end;
    a->out->at[end] = 0;
    for (size_t i = 0; i < columns; i++) (void)cli_write(a->fd, STR("\033[D \033[D"), true);
}

static bool at_space(const Answer *a) { return a->out->n > a->from && a->out->at[a->out->n - 1] == ' '; }

static void drop_word(Answer *a) {
    while (at_space(a)) drop_character(a);
    while (a->out->n > a->from && !at_space(a)) drop_character(a);
}

/* The cursor cannot go back over the end of a row: an answer of several rows starts again on the next one. */
static void drop_all(Answer *a) {
    Str text = str_sub(buf_str(a->out), a->from, a->out->n);
    if (width_of(text) * 2 > width_of_terminal(a->fd)) {
        a->out->n = a->from;
        (void)cli_write(a->fd, STR("\n> "), false);
    }
    while (a->out->n > a->from) drop_character(a);
}

static void add_character(Answer *a) {
    Str text = { a->part, a->n_part };
    size_t length;
    a->n_part = 0;
    uint32_t c = utf8_decode(text, &length);
    if (length != text.n || c == 0xfffd || utf8_is_deceptive(c) || a->out->n - a->from + text.n > ANSWER_MAX) return;
    buf_add(a->out, text);
    (void)cli_write(a->fd, text, false);
}

static void add_byte(Answer *a, char c) {
    unsigned char lead = (unsigned char)(a->n_part ? a->part[0] : c);
    if (a->n_part && ((unsigned char)c & 0xc0) != 0x80) a->n_part = 0;
    a->part[a->n_part++] = c;
    if (a->n_part == (lead >= 0xf0 ? 4u : lead >= 0xe0 ? 3u : lead >= 0xc0 ? 2u : 1u)) add_character(a);
}

/* Escape sequences have no meaning here, except for the marks of pasted text. */
static void take_sequence(Answer *a, char c) {
    if (a->n_sequence < SEQUENCE_MAX) a->sequence[a->n_sequence++] = c;
    bool introduces = a->n_sequence == 2 && (c == '[' || c == 'O');
    if (introduces || (a->n_sequence > 2 && a->sequence[1] == '[' && (c < '@' || c > '~'))) return;
    Str sequence = { a->sequence, a->n_sequence };
    if (str_eq(sequence, STR("\033[200~"))) a->pasting = true;
    if (str_eq(sequence, STR("\033[201~"))) a->pasting = false;
    a->n_sequence = 0;
}

/* True: the answer is complete. */
static bool take_byte(Answer *a, char c) {
    if (a->n_sequence) take_sequence(a, c);
    else if (c == ESCAPE) a->sequence[a->n_sequence++] = c;
    else if (c == '\n' || c == '\r') {
        if (!a->pasting) return true;
        add_byte(a, ' ');
    } else if (a->pasting || (unsigned char)c >= ' ') {
        if (c == DELETE) drop_character(a);
        else add_byte(a, c == '\t' ? ' ' : c);
    } else if (c == CTRL_H) drop_character(a);
    else if (c == CTRL_W) drop_word(a);
    else if (c == CTRL_U) drop_all(a);
    return false;
}

bool answer_read(int fd, Cancel *cancel, Buf *out) {
    Answer a = { .fd = fd, .cancel = cancel, .out = out, .from = out->n };
    char c;
    if (!out->at) buf_add(out, STR(""));
    for (;;) {
        if (!read_byte(&a, &c)) return false;
        if (c == CTRL_D && !a.n_sequence && !a.pasting && out->n == a.from) return false;
        if (take_byte(&a, c)) break;
    }
    (void)cli_write(fd, STR("\n"), false);
    return true;
}
