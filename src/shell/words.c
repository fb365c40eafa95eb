#include "shell/words.h"

enum { BRACES_MAX = 256, SEQUENCE_MAX = 48 };

/* A word during brace expansion: part of a SyntaxWord, or built from one. */
typedef struct { char *text; uint8_t *marks; size_t n; } Piece;
typedef VEC(Piece) Pieces;

static bool is_plain(const Piece *p, size_t i, char c) { return i < p->n && p->marks[i] == SYNTAX_PLAIN && p->text[i] == c; }

/* ---- braces ---- */

typedef struct { size_t open; bool comma; } Brace;

static size_t skip_number(const Piece *p, size_t i) {
    size_t from = i;
    if (is_plain(p, i, '-') || is_plain(p, i, '+')) i++;
    size_t digits = i;
    while (i < p->n && p->marks[i] == SYNTAX_PLAIN && p->text[i] >= '0' && p->text[i] <= '9') i++;
    return i > digits ? i : from;
}

static size_t skip_letter(const Piece *p, size_t i) {
    return i < p->n && p->marks[i] == SYNTAX_PLAIN && ((p->text[i] >= 'a' && p->text[i] <= 'z') || (p->text[i] >= 'A' && p->text[i] <= 'Z')) ? i + 1 : i;
}

/* True if the text from `open` to `close` is a sequence: {1..9}, {a..z}, {1..9..2}. */
static bool is_sequence(const Piece *p, size_t open, size_t close) {
    if (close - open > SEQUENCE_MAX) return false;
    bool letters = skip_letter(p, open + 1) > open + 1;
    size_t i = open + 1;
    for (int part = 0; part < 3; part++) {
        size_t end = letters && part < 2 ? skip_letter(p, i) : skip_number(p, i);
        if (end == i) return false;
        i = end;
        if (i == close) return part > 0;
        if (!is_plain(p, i, '.') || !is_plain(p, i + 1, '.')) return false;
        i += 2;
    }
    return false;
}

/* The first brace group: the leftmost { whose } follows with a comma in between, or a sequence. One pass. */
static bool find_group(const Piece *p, size_t *open, size_t *close, bool *sequence) {
    VEC(Brace) stack = { 0 };
    bool found = false;
    for (size_t i = 0; i < p->n; i++) {
        if (is_plain(p, i, '{')) VEC_PUSH(&stack, (Brace){ i, false });
        else if (is_plain(p, i, ',') && stack.n) VEC_LAST(&stack).comma = true;
        else if (is_plain(p, i, '}') && stack.n) {
            Brace b = VEC_POP(&stack);
            bool range = !b.comma && is_sequence(p, b.open, i);
            if (!(b.comma || range) || (found && b.open > *open)) continue;
            found = true;
            *open = b.open;
            *close = i;
            *sequence = range;
        }
    }
    VEC_CLEAR(&stack);
    return found;
}

static void copy_bytes(Piece *to, const Piece *from, size_t at, size_t end) {
    memcpy(to->text + to->n, from->text + at, end - at);
    memcpy(to->marks + to->n, from->marks + at, end - at);
    to->n += end - at;
}

static Piece new_piece(size_t n, Arena *arena) { return (Piece){ arena_alloc(arena, n + 1), arena_alloc(arena, n + 1), 0 }; }

/* The expansion of the group: one piece per alternative. The words of a sequence are not listed, but marked as
 * unknown. */
static void expand_group(const Piece *p, size_t open, size_t close, bool sequence, Pieces *out, Arena *arena) {
    size_t depth = 0, from = open + 1;
    for (size_t i = open + 1; i <= close; i++) {
        if (is_plain(p, i, '{')) depth++;
        bool end = i == close || (depth == 0 && is_plain(p, i, ',') && !sequence);
        if (is_plain(p, i, '}') && depth) depth--;
        if (!end) continue;
        Piece made = new_piece(p->n, arena);
        copy_bytes(&made, p, 0, open);
        if (sequence) {
            made.text[made.n] = SHELL_UNKNOWN;
            made.marks[made.n++] = SYNTAX_UNKNOWN;
        } else copy_bytes(&made, p, from, i);
        copy_bytes(&made, p, close + 1, p->n);
        VEC_PUSH(out, made);
        from = i + 1;
    }
}

/* Replaces list[at] by the pieces in `made`. */
static void splice(Pieces *list, size_t at, const Pieces *made) {
    size_t behind = list->n - at - 1;
    for (size_t k = 1; k < made->n; k++) VEC_PUSH(list, (Piece){ 0 });
    memmove(list->at + at + made->n, list->at + at + 1, behind * sizeof *list->at);
    memcpy(list->at + at, made->at, made->n * sizeof *made->at);
}

/* False: too many words, or too much text. */
static bool expand_braces(Pieces *list, size_t *work, Arena *arena) {
    for (size_t i = 0; i < list->n;) {
        Piece p = list->at[i];
        size_t open = 0, close = 0;
        bool sequence = false;
        if (*work < p.n) return false;
        *work -= p.n;
        if (!find_group(&p, &open, &close, &sequence)) {
            i++;
            continue;
        }
        size_t most = 2;                                       /* alternatives, an upper bound */
        for (size_t k = open; k < close; k++) most += is_plain(&p, k, ',');
        if (list->n + most > BRACES_MAX || *work < p.n * most) return false;
        *work -= p.n * most;
        Pieces made = { 0 };
        expand_group(&p, open, close, sequence, &made, arena);
        splice(list, i, &made);
        VEC_CLEAR(&made);
    }
    return true;
}

/* ---- one word ---- */

/* The end of the tilde prefix at i (~, ~user), or i when there is none. */
static size_t tilde_end(const Piece *p, size_t i, bool value) {
    size_t end = i + 1;
    if (!is_plain(p, i, '~')) return i;
    while (end < p->n && !is_plain(p, end, '/') && !(value && is_plain(p, end, ':'))) {
        if (p->marks[end] != SYNTAX_PLAIN) return i;
        end++;
    }
    return end;
}

/* True if a byte follows the = of NAME=, where bash expands a tilde. 0: none does. */
static size_t value_start(const Piece *p) {
    size_t i = 0;
    while (i < p->n && p->marks[i] == SYNTAX_PLAIN && syntax_is_name(p->text[i], i == 0)) i++;
    return i > 0 && is_plain(p, i, '=') ? i + 1 : 0;
}

/* True if a ] follows an unquoted [. */
static bool has_pattern(const Piece *p) {
    bool open = false;
    for (size_t i = 0; i < p->n; i++) {
        if (is_plain(p, i, '*') || is_plain(p, i, '?') || (open && is_plain(p, i, ']'))) return true;
        open |= is_plain(p, i, '[');
    }
    return false;
}

static ShellWord make_word(const SyntaxWord *w, const Piece *p, bool value, Arena *arena) {
    ShellWord out = { .exact = true, .process = w->process, .from = w->from, .to = w->to };
    char *text = arena_alloc(arena, p->n + 1);
    size_t n = 0, start = value ? 0 : value_start(p);
    for (size_t i = 0; i < p->n;) {
        bool tilde = i == 0 || i == start || ((value || start) && i > start && is_plain(p, i - 1, ':'));
        size_t end = tilde ? tilde_end(p, i, value || start) : i;
        if (end > i) {
            text[n++] = SHELL_UNKNOWN;
            out.exact = false;
            i = end;
            continue;
        }
        out.splits |= p->marks[i] == SYNTAX_UNKNOWN;
        out.exact &= p->marks[i] < SYNTAX_UNKNOWN;
        text[n++] = p->text[i++];
    }
    text[n] = 0;
    out.text = (Str){ text, n };
    if (value) out.splits = false;
    else if (has_pattern(p)) {
        out.pattern = out.splits = true;
        out.exact = false;
    }
    return out;
}

bool words_expand(const SyntaxWord *w, WordList *out, size_t *work, Arena *arena) {
    Pieces list = { 0 };
    VEC_PUSH(&list, (Piece){ w->text, w->marks, w->n });
    bool ok = expand_braces(&list, work, arena);
    for (size_t i = 0; ok && i < list.n; i++)
        if (list.at[i].n || w->quoted) VEC_PUSH(out, make_word(w, &list.at[i], false, arena));
    VEC_CLEAR(&list);
    return ok;
}

ShellWord words_single(const SyntaxWord *w, size_t from, bool value, Arena *arena) {
    if (!w->text) return (ShellWord){ .text = STR("") };         /* a redirection without a target */
    return make_word(w, &(Piece){ w->text + from, w->marks + from, w->n - from }, value, arena);
}

size_t words_assignment(const SyntaxWord *w, Str *name, bool *append) {
    Piece p = { w->text, w->marks, w->n };
    size_t i = 0;
    while (i < p.n && p.marks[i] == SYNTAX_PLAIN && syntax_is_name(p.text[i], i == 0)) i++;
    if (i == 0) return 0;
    *name = (Str){ w->text, i };
    *append = false;
    if (is_plain(&p, i, '['))
        while (i < p.n && !is_plain(&p, i - 1, ']')) i++;
    if (is_plain(&p, i, '+')) {
        *append = true;
        i++;
    }
    return is_plain(&p, i, '=') ? i + 1 : 0;
}
