#include "tool/guard_judge.h"

static int digit_value(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99; }

static size_t take_number(Str s, size_t i, int base, size_t most, char *out) {
    int v = 0;
    size_t n = 0;
    for (; n < most && i + n < s.n && digit_value(s.at[i + n]) < base; n++) v = v * base + digit_value(s.at[i + n]);
    *out = (char)v;
    return n;
}

/* Escapes as echo -e, printf and %b know them. */
static void add_escaped(Buf *b, Str s) {
    static const char from[] = "abefnrtv\\\"'", to[] = "\a\b\033\f\n\r\t\v\\\"'";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i], next = i + 1 < s.n ? s.at[i + 1] : 0;
        const char *known = next ? strchr(from, next) : NULL;
        if (c != '\\' || !next) buf_add_char(b, c);
        else if (known) buf_add_char(b, to[known - from]), i++;
        else if (next == 'x') i += 1 + take_number(s, i + 2, 16, 2, &c), buf_add_char(b, c);
        else if (next >= '0' && next <= '7') i += take_number(s, i + 1, 8, next == '0' ? 4 : 3, &c), buf_add_char(b, c);
        else buf_add_char(b, '\\');
    }
}

static GuardInput make_text(Guard *j, Buf *b, bool exact) {
    GuardInput out = { GUARD_INPUT_TEXT, arena_str(j->arena, buf_str(b)), exact };
    buf_clear(b);
    return out;
}

/* Some shells' echo knows escapes without -e. Reading them always can only show more: "\n" is two characters that no
 * command is made of. */
static GuardInput echo_output(Guard *j, const GuardField *args, size_t n) {
    size_t i = 0;
    bool exact = true;
    while (i < n && args[i].text.n > 1 && args[i].text.at[0] == '-' && strspn(args[i].text.at + 1, "neE") == args[i].text.n - 1) i++;
    Buf b = { 0 };
    for (size_t first = i; i < n; i++) {
        if (i > first) buf_add_char(&b, ' ');
        add_escaped(&b, args[i].text);
        exact &= args[i].exact && !args[i].glob;
    }
    buf_add_char(&b, '\n');
    return make_text(j, &b, exact);
}

/* One pass over the format; *used counts the arguments it took. False: a conversion that is not understood. */
static bool printf_pass(Buf *b, Str format, const GuardField *args, size_t n, size_t *used, bool *exact) {
    size_t from = 0;
    for (size_t i = 0; i < format.n; i++) {
        if (format.at[i] != '%') continue;
        add_escaped(b, str_sub(format, from, i));
        size_t k = i + 1;
        while (k < format.n && strchr("-+ #0123456789.", format.at[k])) k++;
        if (k >= format.n || (k > i + 1 && format.at[k] == '%')) return false;
        char c = format.at[k];
        if (c == '%') buf_add_char(b, '%');
        else if (!strchr("sbcdiq", c)) return false;
        else if (*used < n) {
            *exact &= args[*used].exact;
            if (c == 'b') add_escaped(b, args[*used].text);
            else buf_add(b, c == 'c' ? str_sub(args[*used].text, 0, 1) : args[*used].text);
            ++*used;
        }
        i = k;
        from = k + 1;
    }
    add_escaped(b, str_sub(format, from, format.n));
    return true;
}

static GuardInput printf_output(Guard *j, const GuardField *args, size_t n) {
    GuardInput unknown = { .kind = GUARD_INPUT_UNKNOWN };
    if (n && str_eq(args[0].text, STR("--"))) args++, n--;
    if (n == 0 || str_starts(args[0].text, STR("-"))) return unknown;
    bool exact = args[0].exact;
    Buf b = { 0 };
    size_t used = 1, before;
    do {
        before = used;
        if (!printf_pass(&b, args[0].text, args, n, &used, &exact)) return buf_clear(&b), unknown;
    } while (used < n && used > before && b.n < GUARD_COMMAND_MAX);
    return make_text(j, &b, exact);
}

static GuardInput command_output(Guard *j, const GuardField *argv, size_t n, GuardInput in) {
    if (n == 0 || !argv[0].exact) return (GuardInput){ .kind = GUARD_INPUT_UNKNOWN };
    const char *slash = memrchr(argv[0].text.at, '/', argv[0].text.n);
    Str name = slash ? str_sub(argv[0].text, (size_t)(slash + 1 - argv[0].text.at), argv[0].text.n) : argv[0].text;
    if ((str_eq(name, STR("command")) || str_eq(name, STR("builtin"))) && n > 1) return command_output(j, argv + 1, n - 1, in);
    if (str_eq(name, STR("echo"))) return echo_output(j, argv + 1, n - 1);
    if (str_eq(name, STR("printf"))) return printf_output(j, argv + 1, n - 1);
    bool plain_cat = str_eq(name, STR("cat")) && (n == 1 || (n == 2 && str_eq(argv[1].text, STR("-"))));
    if (plain_cat && in.kind == GUARD_INPUT_TEXT) return in;
    return (GuardInput){ .kind = GUARD_INPUT_UNKNOWN };
}

static GuardInput simple_output(Guard *j, const GuardNode *node, GuardInput in, bool to_file) {
    for (size_t i = 0; i < node->redirects_n; i++) {
        const GuardRedirect *r = &node->redirects[i];
        if (to_file && r->kind == GUARD_OUT) continue;
        if (r->kind != GUARD_HEREDOC && r->kind != GUARD_HERESTRING) return (GuardInput){ .kind = GUARD_INPUT_UNKNOWN };
        GuardField text = guard_word_one(j, &r->word);
        in = (GuardInput){ GUARD_INPUT_TEXT, text.text, text.exact };
    }
    GuardFields argv = { 0 };
    for (size_t i = 0; i < node->words_n; i++) guard_word_expand(j, &node->words[i], &argv);
    GuardInput out = command_output(j, argv.at, argv.n, in);
    VEC_CLEAR(&argv);
    return out;
}

GuardInput guard_output_of(Guard *j, const GuardNode *node, GuardInput in) {
    while (node->children_n == 1 && node->redirects_n == 0
           && (node->kind == GUARD_LIST || node->kind == GUARD_PIPELINE || node->kind == GUARD_GROUP)) node = node->children[0];
    if (node->kind == GUARD_SIMPLE) return simple_output(j, node, in, false);
    if (node->kind == GUARD_PIPELINE) {
        for (size_t i = 0; i < node->children_n; i++) in = guard_output_of(j, node->children[i], in);
        return in;
    }
    return (GuardInput){ .kind = GUARD_INPUT_UNKNOWN };
}

GuardInput guard_output_written(Guard *j, const GuardNode *node, GuardInput in) { return simple_output(j, node, in, true); }
