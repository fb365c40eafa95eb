#include "tool/guard_parse.h"

typedef VEC(GuardNode *) Nodes;
typedef VEC(GuardWord) Words;
typedef VEC(GuardRedirect *) Redirects;

static GuardNode *parse_list(GuardLexer *x);
static GuardNode *parse_command(GuardLexer *x);

static GuardNode *new_node(GuardLexer *x, GuardNodeKind kind) {
    GuardNode *n = ARENA_NEW(x->arena, GuardNode);
    n->kind = kind;
    return n;
}

static void keep_children(GuardLexer *x, GuardNode *node, Nodes *list) {
    node->children = ARENA_ARRAY(x->arena, GuardNode *, list->n);
    node->children_n = list->n;
    if (list->n) memcpy(node->children, list->at, list->n * sizeof *list->at);
    VEC_CLEAR(list);
}

static void keep_words(GuardLexer *x, GuardNode *node, Words *list) {
    node->words = ARENA_ARRAY(x->arena, GuardWord, list->n);
    node->words_n = list->n;
    if (list->n) memcpy(node->words, list->at, list->n * sizeof *list->at);
    VEC_CLEAR(list);
}

/* ---- reserved words ---- */

static Str peek_reserved(GuardLexer *x) {
    size_t n = 0;
    guard_lex_blanks(x);
    for (;; n++) {
        char c = guard_lex_peek(x, n);
        if (!((c >= 'a' && c <= 'z') || (c && strchr("{}![]", c)))) break;
    }
    char after = guard_lex_peek(x, n);
    bool whole = x->i + n >= x->s.n || (after && strchr(" \t\r\n;&|()<>", after));
    return whole ? str_sub(x->s, x->i, x->i + n) : STR("");
}

static bool at_reserved(GuardLexer *x, const char *word) { return str_eq(peek_reserved(x), str_from(word)); }

static bool take_reserved(GuardLexer *x, const char *word) {
    if (!at_reserved(x, word)) return false;
    x->i += strlen(word);
    return true;
}

static void expect(GuardLexer *x, const char *word, const char *why) {
    if (!x->error && !take_reserved(x, word)) guard_lex_fail(x, why);
}

static void skip_newlines(GuardLexer *x) {
    for (;;) {
        guard_lex_blanks(x);
        if (guard_lex_peek(x, 0) != '\n') return;
        guard_lex_newline(x);
    }
}

/* Does a list end here? */
static bool at_closing(GuardLexer *x) {
    static const char *const words[] = { "then", "do", "done", "fi", "else", "elif", "esac", "}" };
    char c = guard_lex_peek(x, 0);
    if (x->i >= x->s.n || c == ')') return true;
    if (c == ';' && (guard_lex_peek(x, 1) == ';' || guard_lex_peek(x, 1) == '&')) return true;
    Str word = peek_reserved(x);
    for (size_t i = 0; word.n && i < sizeof words / sizeof *words; i++)
        if (str_eq(word, str_from(words[i]))) return true;
    return false;
}

/* ---- redirections ---- */

/* At "<", ">" or "&>"? Numbers and {names} in front of it are passed over only if so. */
static bool at_redirect(const GuardLexer *x, size_t *skip) {
    size_t n = 0;
    char c = guard_lex_peek(x, 0);
    if (c == '{') {
        while (guard_lex_peek(x, n) && guard_lex_peek(x, n) != '}' && !strchr(" \t\n;&|()<>$'\"", guard_lex_peek(x, n))) n++;
        n++;
    } else while (guard_lex_peek(x, n) >= '0' && guard_lex_peek(x, n) <= '9') n++;
    char at = guard_lex_peek(x, n), next = guard_lex_peek(x, n + 1);
    *skip = n;
    if (at == '&' && next == '>' && n == 0) return true;
    return (at == '<' || at == '>') && next != '(';
}

static GuardRedirectKind take_operator(GuardLexer *x, bool *heredoc_tabs, int *fd) {
    static const struct { const char *text; GuardRedirectKind kind; int fd; } operators[] = {
        { "&>>", GUARD_OUT, 1 }, { "&>", GUARD_OUT, 1 }, { "<<<", GUARD_HERESTRING, 0 }, { "<<-", GUARD_HEREDOC, 0 },
        { "<<", GUARD_HEREDOC, 0 }, { "<>", GUARD_INOUT, 0 }, { "<&", GUARD_COPY, 0 }, { "<", GUARD_IN, 0 }, { ">>", GUARD_OUT, 1 },
        { ">|", GUARD_OUT, 1 }, { ">&", GUARD_COPY, 1 }, { ">", GUARD_OUT, 1 },
    };
    Str rest = str_sub(x->s, x->i, x->i + 3);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        Str text = str_from(operators[i].text);
        if (!str_starts(rest, text)) continue;
        x->i += text.n;
        *heredoc_tabs = str_eq(text, STR("<<-"));
        if (*fd < 0) *fd = operators[i].fd;
        return operators[i].kind;
    }
    guard_lex_fail(x, "a redirection is not understood");
    return GUARD_COPY;
}

static GuardRedirect *parse_redirect(GuardLexer *x, size_t skip) {
    GuardRedirect *r = ARENA_NEW(x->arena, GuardRedirect);
    r->fd = skip == 0 ? -1 : guard_lex_peek(x, 0) == '{' ? 99 : 0;
    for (size_t i = 0; i < skip && r->fd != 99 && r->fd != -1; i++) r->fd = r->fd > 99 ? 100 : r->fd * 10 + (guard_lex_peek(x, i) - '0');
    bool tabs = false;
    x->i += skip;
    r->kind = take_operator(x, &tabs, &r->fd);
    guard_lex_blanks(x);
    if (!guard_lex_word(x, &r->word)) guard_lex_fail(x, "a redirection has no target");
    else if (r->kind == GUARD_HEREDOC) {
        Str end = guard_lex_plain(&r->word, x->arena);
        if (end.n == 0 && r->word.n) guard_lex_fail(x, "a here-document's end is not plain");
        else VEC_PUSH(&x->heredocs, (GuardHeredoc){ r, end, r->word.quoted, tabs });
        r->word = (GuardWord){ 0 };
    } else if (r->kind == GUARD_COPY && r->fd <= 2) {      /* >&file is a file, >&2 and >&- are not */
        Str plain = guard_lex_plain(&r->word, x->arena);
        bool number = plain.n > 0;
        for (size_t i = 0; i < plain.n; i++) number = number && ((plain.at[i] >= '0' && plain.at[i] <= '9') || plain.at[i] == '-');
        if (!number) r->kind = r->fd == 0 ? GUARD_IN : GUARD_OUT;
    }
    return r;
}

/* A here-document is filled in later: it must learn where its redirection has moved to. */

static void keep_redirects(GuardLexer *x, GuardNode *node, Redirects *list) {
    node->redirects = ARENA_ARRAY(x->arena, GuardRedirect, list->n);
    node->redirects_n = list->n;
    for (size_t i = 0; i < list->n; i++) {
        node->redirects[i] = *list->at[i];
        for (size_t k = 0; k < x->heredocs.n; k++)
            if (x->heredocs.at[k].redirect == list->at[i]) x->heredocs.at[k].redirect = &node->redirects[i];
    }
    VEC_CLEAR(list);
}

static void parse_redirects(GuardLexer *x, GuardNode *node) {
    Redirects list = { 0 };
    size_t skip;
    for (guard_lex_blanks(x); !x->error && at_redirect(x, &skip); guard_lex_blanks(x)) VEC_PUSH(&list, parse_redirect(x, skip));
    keep_redirects(x, node, &list);
}

/* ---- simple commands and functions ---- */

static GuardNode *parse_function_body(GuardLexer *x, Str name) {
    GuardNode *f = new_node(x, GUARD_FUNCTION);
    f->name = name;
    skip_newlines(x);
    Nodes body = { 0 };
    GuardNode *c = parse_command(x);
    if (c) VEC_PUSH(&body, c);
    else guard_lex_fail(x, "a function has no body");
    keep_children(x, f, &body);
    return f;
}

static bool at_parentheses(GuardLexer *x) {
    size_t save = x->i;
    guard_lex_blanks(x);
    if (guard_lex_peek(x, 0) == '(') {
        x->i++;
        guard_lex_blanks(x);
        if (guard_lex_peek(x, 0) == ')') return x->i++, true;
    }
    x->i = save;
    return false;
}

static GuardNode *parse_simple(GuardLexer *x) {
    GuardNode *node = new_node(x, GUARD_SIMPLE);
    Words words = { 0 };
    Redirects redirects = { 0 };
    GuardNode *function = NULL;
    while (!x->error) {
        size_t skip;
        GuardWord w;
        guard_lex_blanks(x);
        if (at_redirect(x, &skip)) VEC_PUSH(&redirects, parse_redirect(x, skip));
        else if (guard_lex_word(x, &w)) {
            if (words.n == 0 && redirects.n == 0 && w.items == NULL && at_parentheses(x)) {
                Str name = guard_lex_plain(&w, x->arena);
                function = parse_function_body(x, name);
                break;
            }
            VEC_PUSH(&words, w);
        } else break;
    }
    bool empty = words.n == 0 && redirects.n == 0;
    keep_words(x, node, &words);
    keep_redirects(x, node, &redirects);
    if (function) return function;
    return empty ? NULL : node;
}

/* ---- compound commands ---- */

static GuardNode *parse_until(GuardLexer *x, GuardNodeKind kind, Nodes *children) {
    GuardNode *node = new_node(x, kind);
    keep_children(x, node, children);
    parse_redirects(x, node);
    return node;
}

static GuardNode *parse_if(GuardLexer *x) {
    Nodes all = { 0 };
    do {
        VEC_PUSH(&all, parse_list(x));
        expect(x, "then", "an if has no then");
        VEC_PUSH(&all, parse_list(x));
    } while (!x->error && take_reserved(x, "elif"));
    if (take_reserved(x, "else")) VEC_PUSH(&all, parse_list(x));
    expect(x, "fi", "an if has no fi");
    return parse_until(x, GUARD_GROUP, &all);
}

static GuardNode *parse_loop(GuardLexer *x) {
    Nodes all = { 0 };
    VEC_PUSH(&all, parse_list(x));
    expect(x, "do", "a loop has no do");
    VEC_PUSH(&all, parse_list(x));
    expect(x, "done", "a loop has no done");
    return parse_until(x, GUARD_LOOP, &all);
}

/* (( … )) in bash; other shells run what stands in it. */
static GuardNode *parse_arithmetic(GuardLexer *x, size_t end) {
    Str inner = str_sub(x->s, x->i + 2, end - 2);
    GuardNode *words = new_node(x, GUARD_WORDS), *other = new_node(x, GUARD_MAYBE), *both = new_node(x, GUARD_LIST);
    Words list = { 0 };
    VEC_PUSH(&list, guard_lex_text(x, inner));
    keep_words(x, words, &list);
    Nodes children = { 0 };
    VEC_PUSH(&children, guard_parse(inner, x->depth + 1, x->arena).node);
    keep_children(x, other, &children);
    VEC_PUSH(&children, words);
    VEC_PUSH(&children, other);
    keep_children(x, both, &children);
    x->i = end;
    return both;
}

static void parse_for_body(GuardLexer *x, Nodes *body) {
    skip_newlines(x);
    if (guard_lex_peek(x, 0) == ';') x->i++;
    skip_newlines(x);
    bool braces = take_reserved(x, "{");
    if (!braces) expect(x, "do", "a for has no do");
    VEC_PUSH(body, parse_list(x));
    expect(x, braces ? "}" : "done", "a for has no done");
}

static GuardNode *parse_for(GuardLexer *x) {
    GuardNode *node = new_node(x, GUARD_FOR);
    Nodes body = { 0 };
    Words words = { 0 };
    GuardWord w;
    guard_lex_blanks(x);
    size_t end = guard_lex_peek(x, 0) == '(' && guard_lex_peek(x, 1) == '(' ? guard_lex_arithmetic(x->s, x->i + 2) : 0;
    if (end) {
        Str head = str_trim(str_sub(x->s, x->i + 2, end - 2));
        VEC_PUSH(&body, parse_arithmetic(x, end));
        parse_for_body(x, &body);
        GuardNode *loop = parse_until(x, GUARD_LOOP, &body);
        ptrdiff_t first = str_find_char(head, ';'), second = first < 0 ? -1 : str_find_char(str_sub(head, (size_t)first + 1, head.n), ';');
        loop->forever = second >= 0 && str_trim(str_sub(head, (size_t)first + 1, (size_t)(first + 1 + second))).n == 0;
        return loop;
    }
    if (!guard_lex_word(x, &w)) guard_lex_fail(x, "a for has no name");
    else node->name = guard_lex_plain(&w, x->arena);
    skip_newlines(x);
    if (take_reserved(x, "in"))
        for (guard_lex_blanks(x); guard_lex_word(x, &w); guard_lex_blanks(x)) VEC_PUSH(&words, w);
    keep_words(x, node, &words);
    parse_for_body(x, &body);
    keep_children(x, node, &body);
    parse_redirects(x, node);
    return node;
}

static void parse_patterns(GuardLexer *x, Words *words) {
    GuardWord w;
    skip_newlines(x);
    if (guard_lex_peek(x, 0) == '(') x->i++;
    for (;;) {
        guard_lex_blanks(x);
        if (guard_lex_word(x, &w)) VEC_PUSH(words, w);
        guard_lex_blanks(x);
        if (guard_lex_peek(x, 0) != '|') break;
        x->i++;
    }
    if (guard_lex_peek(x, 0) == ')') x->i++;
    else guard_lex_fail(x, "a case pattern is not closed");
}

static GuardNode *parse_case(GuardLexer *x) {
    Nodes all = { 0 };
    Words words = { 0 };
    GuardWord w;
    guard_lex_blanks(x);
    if (guard_lex_word(x, &w)) VEC_PUSH(&words, w);
    skip_newlines(x);
    expect(x, "in", "a case has no in");
    for (skip_newlines(x); !x->error && x->i < x->s.n && !at_reserved(x, "esac"); skip_newlines(x)) {
        parse_patterns(x, &words);
        VEC_PUSH(&all, parse_list(x));
        guard_lex_blanks(x);
        while (guard_lex_peek(x, 0) == ';' || guard_lex_peek(x, 0) == '&') x->i++;
    }
    expect(x, "esac", "a case has no esac");
    GuardNode *heads = new_node(x, GUARD_WORDS);
    keep_words(x, heads, &words);
    VEC_PUSH(&all, heads);
    return parse_until(x, GUARD_GROUP, &all);
}

/* [[ … ]]: nothing in it runs but what its words expand. */
static GuardNode *parse_condition(GuardLexer *x) {
    GuardNode *node = new_node(x, GUARD_WORDS);
    Words words = { 0 };
    GuardWord w;
    while (!x->error) {
        skip_newlines(x);
        if (x->i >= x->s.n) { guard_lex_fail(x, "a [[ is not closed"); break; }
        if (take_reserved(x, "]]")) break;
        if (guard_lex_word(x, &w)) VEC_PUSH(&words, w);
        else x->i++;
    }
    keep_words(x, node, &words);
    parse_redirects(x, node);
    return node;
}

static GuardNode *parse_parentheses(GuardLexer *x) {
    size_t end = guard_lex_peek(x, 1) == '(' ? guard_lex_arithmetic(x->s, x->i + 2) : 0;
    if (end) {
        GuardNode *node = parse_arithmetic(x, end);
        parse_redirects(x, node);
        return node;
    }
    x->i++;
    Nodes all = { 0 };
    VEC_PUSH(&all, guard_parse_inside(x, ')'));
    return parse_until(x, GUARD_GROUP, &all);
}

static GuardNode *parse_named_function(GuardLexer *x) {
    GuardWord w;
    guard_lex_blanks(x);
    if (!guard_lex_word(x, &w)) return guard_lex_fail(x, "a function has no name"), NULL;
    at_parentheses(x);
    return parse_function_body(x, guard_lex_plain(&w, x->arena));
}

static GuardNode *parse_group(GuardLexer *x) {
    Nodes all = { 0 };
    VEC_PUSH(&all, parse_list(x));
    expect(x, "}", "a { is not closed");
    return parse_until(x, GUARD_GROUP, &all);
}

static GuardNode *parse_plain_command(GuardLexer *x) {
    if (guard_lex_peek(x, 0) == '(') return parse_parentheses(x);
    if (take_reserved(x, "{")) return parse_group(x);
    if (take_reserved(x, "if")) return parse_if(x);
    if (take_reserved(x, "while") || take_reserved(x, "until")) return parse_loop(x);
    if (take_reserved(x, "for") || take_reserved(x, "select")) return parse_for(x);
    if (take_reserved(x, "case")) return parse_case(x);
    if (take_reserved(x, "function")) return parse_named_function(x);
    if (take_reserved(x, "[[")) return parse_condition(x);
    return parse_simple(x);
}

static GuardNode *parse_command(GuardLexer *x) {
    guard_lex_blanks(x);
    if (!guard_lex_enter(x)) return NULL;
    GuardNode *node = parse_plain_command(x);
    x->depth--;
    return node;
}

static void skip_prefixes(GuardLexer *x) {
    for (;;) {
        guard_lex_blanks(x);
        if (take_reserved(x, "!") || take_reserved(x, "coproc")) continue;
        if (!take_reserved(x, "time")) return;
        guard_lex_blanks(x);
        if (str_starts(str_sub(x->s, x->i, x->i + 3), STR("-p "))) x->i += 2;
        guard_lex_blanks(x);
        if (str_starts(str_sub(x->s, x->i, x->i + 3), STR("-- "))) x->i += 2;
    }
}

static GuardNode *parse_pipeline(GuardLexer *x) {
    Nodes all = { 0 };
    for (;;) {
        skip_prefixes(x);
        GuardNode *c = parse_command(x);
        if (c) VEC_PUSH(&all, c);
        guard_lex_blanks(x);
        if (x->error || guard_lex_peek(x, 0) != '|' || guard_lex_peek(x, 1) == '|') break;
        x->i += guard_lex_peek(x, 1) == '&' ? 2 : 1;
        skip_newlines(x);
    }
    GuardNode *node = new_node(x, GUARD_PIPELINE);
    keep_children(x, node, &all);
    return node;
}

/* Both sides of && and || may run: they are one after the other here. */
static GuardNode *parse_and_or(GuardLexer *x) {
    Nodes all = { 0 };
    for (;;) {
        VEC_PUSH(&all, parse_pipeline(x));
        guard_lex_blanks(x);
        char c = guard_lex_peek(x, 0);
        if (x->error || (c != '&' && c != '|') || guard_lex_peek(x, 1) != c) break;
        x->i += 2;
        skip_newlines(x);
    }
    GuardNode *node = new_node(x, GUARD_LIST);
    keep_children(x, node, &all);
    return node;
}

static GuardNode *parse_list(GuardLexer *x) {
    Nodes all = { 0 };
    for (skip_newlines(x); !x->error && !at_closing(x); skip_newlines(x)) {
        size_t before = x->i;
        GuardNode *node = parse_and_or(x);
        VEC_PUSH(&all, node);
        guard_lex_blanks(x);
        char c = guard_lex_peek(x, 0);
        if (c == '&') node->background = true;
        bool closing = c == ';' && (guard_lex_peek(x, 1) == ';' || guard_lex_peek(x, 1) == '&');
        if ((c == '&' || c == ';') && !closing) x->i++;
        if (x->i == before && !x->error) guard_lex_fail(x, "a character stands where it cannot");
    }
    GuardNode *list = new_node(x, GUARD_LIST);
    keep_children(x, list, &all);
    return list;
}

GuardNode *guard_parse_inside(GuardLexer *x, char close) {
    if (!guard_lex_enter(x)) return new_node(x, GUARD_LIST);
    GuardNode *list = parse_list(x);
    x->depth--;
    if (x->error) return list;
    if (guard_lex_peek(x, 0) == close) x->i++;
    else guard_lex_fail(x, "a ( is not closed");
    return list;
}

GuardScript guard_parse(Str text, unsigned depth, Arena *arena) {
    GuardLexer x = { .arena = arena, .s = text, .depth = depth };
    GuardScript out = { .node = ARENA_NEW(arena, GuardNode) };
    out.node->kind = GUARD_LIST;
    if (guard_lex_enter(&x)) out.node = parse_list(&x);
    if (!x.error && x.i < x.s.n) guard_lex_fail(&x, "something is closed that was not open");
    if (!x.error && x.heredocs.n) guard_lex_newline(&x);  /* no line behind its announcement: it is empty */
    VEC_CLEAR(&x.heredocs);
    out.error = x.error ? x.error : x.doubt;
    return out;
}
