#include "base/mem.h"
#include "tool/guard_judge.h"

enum { BRACES_MAX = 256, BRACE_DEPTH_MAX = 16 };

typedef VEC(GuardElem) Elems;

void guard_word_push(GuardFields *list, GuardField f) {
    VEC_PUSH(list, f);
}

/* ---- braces ---- */

static bool is_plain(const GuardElem *e, char c) { return e->kind == GUARD_CHAR && !e->quoted && e->c == c; }

/* The end of the group at `open`, and whether it is one: it needs a comma or "..". */
static bool find_group(const Elems *w, size_t open, size_t *close) {
    size_t depth = 0;
    bool real = false;
    for (size_t i = open; i < w->n; i++) {
        if (is_plain(&w->at[i], '{')) depth++;
        else if (is_plain(&w->at[i], '}') && --depth == 0) return *close = i, real;
        else if (depth == 1 && is_plain(&w->at[i], ',')) real = true;
        else if (depth == 1 && is_plain(&w->at[i], '.') && i + 1 < w->n && is_plain(&w->at[i + 1], '.')) real = true;
    }
    return false;
}

static void add_range(Elems *to, const GuardElem *from, size_t n) {
    for (size_t i = 0; i < n; i++) VEC_PUSH(to, from[i]);
}

typedef VEC(Elems) Expansions;

static void add_expansion(Expansions *out, const Elems *w, size_t open, size_t close, size_t from, size_t to) {
    Elems made = { 0 };
    add_range(&made, w->at, open);
    add_range(&made, w->at + from, to - from);
    add_range(&made, w->at + close + 1, w->n - close - 1);
    VEC_PUSH(out, made);
}

/* {a..z}: its ends are enough to look at. */
static void expand_group(const Elems *w, size_t open, size_t close, Expansions *out) {
    size_t depth = 0, from = open + 1;
    bool commas = false;
    for (size_t i = open; i <= close; i++) {
        const GuardElem *e = &w->at[i];
        if (is_plain(e, '{')) depth++;
        bool comma = depth == 1 && is_plain(e, ',');
        commas |= comma;
        if (comma || i == close) {
            if (!comma && !commas) break;
            add_expansion(out, w, open, close, from, i);
            from = i + 1;
        }
        if (is_plain(e, '}')) depth--;
    }
    if (commas) return;
    size_t dots = open + 1;
    while (dots + 1 < close && !(is_plain(&w->at[dots], '.') && is_plain(&w->at[dots + 1], '.'))) dots++;
    add_expansion(out, w, open, close, open + 1, dots);
    add_expansion(out, w, open, close, dots + 2 < close ? dots + 2 : close, close);
}

/* Every word that the braces of w make, first group first. False: too many. */
static bool expand_braces(Guard *j, Expansions *list) {
    for (size_t i = 0; i < list->n;) {
        Elems *w = &list->at[i];
        size_t open = 0, close = 0;
        while (open < w->n && !(is_plain(&w->at[open], '{') && find_group(w, open, &close))) open++;
        if (open >= w->n) { i++; continue; }
        Expansions made = { 0 };
        expand_group(w, open, close, &made);
        bool fits = list->n + made.n <= BRACES_MAX && guard_judge_spend(j, 1 + w->n * made.n / 64);
        if (fits) {
            Elems old = *w;
            size_t rest = list->n - i - 1;
            for (size_t k = 1; k < made.n; k++) VEC_PUSH(list, (Elems){ 0 });
            memmove(list->at + i + made.n, list->at + i + 1, rest * sizeof *list->at);
            memcpy(list->at + i, made.at, made.n * sizeof *made.at);
            VEC_CLEAR(&old);
        } else
            for (size_t k = 0; k < made.n; k++) VEC_CLEAR(&made.at[k]);
        VEC_CLEAR(&made);
        if (!fits) return false;
    }
    return true;
}

/* ---- values ---- */

typedef struct { Guard *j; GuardFields *out; Buf text; bool any, exact, splits, glob, one; const GuardNode *process; } Builder;

static void start_field(Builder *b) {
    buf_reset(&b->text);
    b->any = b->splits = b->glob = false;
    b->exact = true;
    b->process = NULL;
}

static void end_field(Builder *b) {
    if (b->any)
        guard_word_push(b->out, (GuardField){ arena_str(b->j->arena, buf_str(&b->text)), b->exact, b->splits, b->glob, b->process });
    start_field(b);
}

static void add_hole(Builder *b, bool quoted) {
    buf_add_char(&b->text, GUARD_HOLE);
    b->any = true;
    b->exact = false;
    b->splits |= !quoted;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

static void add_value(Builder *b, Str value, bool exact, bool quoted) {
    for (size_t i = 0; i < value.n; i++) {
        if (!quoted && !b->one && is_space(value.at[i])) end_field(b);
        else if (value.at[i] == GUARD_HOLE) add_hole(b, quoted);
        else {
            buf_add_char(&b->text, value.at[i]);
            b->any = true;
            b->glob |= !quoted && strchr("*?[", value.at[i]);
        }
    }
    b->exact &= exact;
    b->any |= quoted;
}

static void add_elem(Builder *b, const GuardElem *e);

static void add_otherwise(Builder *b, const GuardElem *e) {
    const GuardWord *w = e->part->otherwise;
    for (size_t i = 0; i < w->n; i++) {
        GuardElem inner = w->at[i];
        if (inner.kind == GUARD_CHAR && !inner.quoted && !e->quoted && !b->one && is_space(inner.c)) end_field(b);
        else add_elem(b, &inner);
    }
}

static void add_variable(Builder *b, const GuardElem *e) {
    Guard *j = b->j;
    Str name = e->part->name;
    const GuardField *value = j->guess && name.n ? table_get(&j->variables, name) : NULL;
    if (value) add_value(b, value->text, value->exact, e->quoted && !(str_eq(name, STR("@"))));
    else if (j->guess && e->part->otherwise && name.n) add_otherwise(b, e);
    else if (j->guess && str_eq(name, STR("IFS"))) add_value(b, STR(" "), true, e->quoted);
    else if (!j->guess || !name.n || !strchr("@*0123456789", name.at[0])) add_hole(b, e->quoted);
    /* else: an argument that was not given */
}

static void add_substitution(Builder *b, const GuardElem *e) {
    GuardInput out = { .kind = GUARD_INPUT_UNKNOWN };
    if (b->j->guess) out = guard_output_of(b->j, e->part->script, (GuardInput){ .kind = GUARD_INPUT_NONE });
    if (out.kind != GUARD_INPUT_TEXT) { add_hole(b, e->quoted); return; }
    while (out.text.n && out.text.at[out.text.n - 1] == '\n') out.text.n--;
    add_value(b, out.text, out.exact, e->quoted);
}

static void add_elem(Builder *b, const GuardElem *e) {
    switch (e->kind) {
    case GUARD_CHAR:
        buf_add_char(&b->text, e->c);
        b->any = true;
        b->glob |= !e->quoted && strchr("*?[", e->c);
        break;
    case GUARD_UNKNOWN: add_hole(b, e->quoted); break;
    case GUARD_VARIABLE: add_variable(b, e); break;
    case GUARD_SUBSTITUTION: add_substitution(b, e); break;
    case GUARD_PROCESS:
        add_hole(b, true);
        b->process = e->part->script;
        break;
    }
}

static void add_elems(Builder *b, const GuardElem *at, size_t n, bool quoted) {
    start_field(b);
    b->any = quoted;
    for (size_t i = 0; i < n; i++) add_elem(b, &at[i]);
    end_field(b);
}

void guard_word_expand(Guard *j, const GuardWord *w, GuardFields *out) {
    if (!guard_judge_spend(j, 1 + w->n / 64)) return;
    Expansions list = { 0 };
    Elems first = { 0 };
    add_range(&first, w->at, w->n);
    VEC_PUSH(&list, first);
    bool fits = expand_braces(j, &list);
    Builder b = { .j = j, .out = out };
    for (size_t i = 0; i < list.n; i++) {
        if (fits) add_elems(&b, list.at[i].at, list.at[i].n, w->quoted);
        VEC_CLEAR(&list.at[i]);
    }
    VEC_CLEAR(&list);
    buf_clear(&b.text);
    if (!fits) guard_word_push(out, (GuardField){ .text = STR("\1"), .splits = true });
}

GuardField guard_word_one(Guard *j, const GuardWord *w) {
    GuardFields list = { 0 };
    Builder b = { .j = j, .out = &list, .one = true };
    add_elems(&b, w->at, w->n, true);
    buf_clear(&b.text);
    GuardField f = list.n ? list.at[0] : (GuardField){ .text = STR(""), .exact = true };
    VEC_CLEAR(&list);
    return f;
}

void guard_word_split(Guard *j, Str text, GuardFields *out) {
    Builder b = { .j = j, .out = out };
    start_field(&b);
    add_value(&b, text, true, false);
    end_field(&b);
    buf_clear(&b.text);
}

GuardField guard_word_join(Guard *j, const GuardField *at, size_t n) {
    Buf b = { 0 };
    GuardField f = { .exact = true };
    for (size_t i = 0; i < n; i++) {
        if (i) buf_add_char(&b, ' ');
        buf_add(&b, at[i].text);
        f.exact &= at[i].exact;
    }
    f.text = arena_str(j->arena, buf_str(&b));
    buf_clear(&b);
    return f;
}
