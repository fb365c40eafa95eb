#include "shell/wrappers.h"

static const Wrapper table[] = {
#define W(name, kind, operands, values, text, code) { name, WRAPPER_##kind, operands, values, text, code },
#include "shell/wrappers.def"
#undef W
};
enum { TABLE_N = sizeof table / sizeof *table };

static const Wrapper *find_row(Str name) {
    for (size_t i = 0; i < TABLE_N; i++)
        if (str_eq(name, str_from(table[i].name))) return &table[i];
    return NULL;
}

/* ld-linux-x86-64.so.2, ld-musl-x86_64.so.1: each runs the given program. */
static bool is_loader(Str name) { return str_starts(name, STR("ld")) && str_find(name, STR(".so")) > 0; }

const Wrapper *wrappers_find(Str program) {
    if (program.n && program.at[0] == '-') program = str_sub(program, 1, program.n);     /* -bash: a login shell */
    if (str_find_char(program, ' ') >= 0) return NULL;                                   /* a subcommand's row is not a program */
    return find_row(is_loader(program) ? STR("ld.so") : program);
}

/* True if `name` equals "FIRST SECOND". */
static bool is_pair(Str name, Str first, Str second) {
    return name.n == first.n + 1 + second.n && str_starts(name, first) && name.at[first.n] == ' ' && str_ends(name, second);
}

const Wrapper *wrappers_find_sub(const Wrapper *w, Str operand) {
    const Wrapper *any = NULL;
    for (size_t i = 0; i < TABLE_N; i++) {
        Str name = str_from(table[i].name);
        if (is_pair(name, str_from(w->name), operand)) return &table[i];
        if (is_pair(name, str_from(w->name), STR("*"))) any = &table[i];
    }
    return any;
}

/* ---- lists of options ---- */

static bool next_word(Str *rest, Str *word) {
    ptrdiff_t blank = str_find_char(*rest, ' ');
    if (rest->n == 0) return false;
    *word = str_sub(*rest, 0, blank < 0 ? rest->n : (size_t)blank);
    *rest = str_sub(*rest, word->n + 1, rest->n);
    return true;
}

static bool listed(const char *list, Str word) {
    Str one;
    for (Str rest = str_from(list); next_word(&rest, &one);)
        if (str_eq(one, word)) return true;
    return false;
}

/* Programs accept --kill for --kill-after. */
static bool listed_abbreviation(const char *list, Str word) {
    Str one;
    if (word.n < 4 || !str_starts(word, STR("--"))) return false;
    for (Str rest = str_from(list); next_word(&rest, &one);)
        if (str_starts(one, word)) return true;
    return false;
}

bool wrappers_reads_text(const Wrapper *w) { return listed(w->text, STR("<")); }

static bool has_value(const Wrapper *w, Str name) { return listed(w->values, name) || listed(w->code, name); }

/* A cluster of letters: the first that takes a value takes the rest. */
static WrapperOption read_letters(const Wrapper *w, Str word, size_t *inside) {
    for (size_t i = 1; i < word.n; i++) {
        Str letter = str_sub(word, i, i + 1);
        bool text = listed(w->text, letter);
        if (!text && !has_value(w, letter)) continue;
        *inside = i + 1 < word.n ? i + 1 : 0;
        return text ? WRAPPER_TEXT_VALUE : WRAPPER_VALUE;
    }
    return WRAPPER_FLAG;
}

WrapperOption wrappers_option(const Wrapper *w, Str word, size_t *inside) {
    ptrdiff_t equals = str_find_char(word, '=');
    Str name = equals < 0 ? word : str_sub(word, 0, (size_t)equals);
    *inside = equals < 0 ? 0 : (size_t)equals + 1;
    if (name.n > 2 && (listed(w->text, name) || listed_abbreviation(w->text, name))) return WRAPPER_TEXT_VALUE;
    if (name.n > 2 && (has_value(w, name) || listed_abbreviation(w->values, name))) return WRAPPER_VALUE;
    if (str_starts(word, STR("--"))) return WRAPPER_FLAG;
    return read_letters(w, word, inside);
}
