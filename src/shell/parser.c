#include "shell/syntax.h"

typedef VEC(SyntaxNode *) Nodes;
typedef VEC(SyntaxWord) Words;
typedef VEC(SyntaxRedirect *) Redirects;

static SyntaxNode *parse_list(SyntaxReader *x);
static SyntaxNode *parse_command(SyntaxReader *x);

static SyntaxNode *new_node(SyntaxReader *x, SyntaxKind kind) {
    SyntaxNode *n = ARENA_NEW(x->arena, SyntaxNode);
    n->kind = kind;
    n->depth = x->depth;
    n->from = x->nested ? x->from : (uint32_t)x->i;
    return n;
}

/* The node ends here. */
static SyntaxNode *end_node(const SyntaxReader *x, SyntaxNode *n) {
    n->to = x->nested ? x->to : (uint32_t)x->i;
    return n;
}

static void keep_children(SyntaxReader *x, SyntaxNode *node, Nodes *list) {
    node->children = ARENA_ARRAY(x->arena, SyntaxNode *, list->n);
    node->children_n = list->n;
    if (list->n) memcpy(node->children, list->at, list->n * sizeof *list->at);
    VEC_CLEAR(list);
}

static void keep_words(SyntaxReader *x, SyntaxNode *node, Words *list) {
    node->words = ARENA_ARRAY(x->arena, SyntaxWord, list->n);
    node->words_n = list->n;
    if (list->n) memcpy(node->words, list->at, list->n * sizeof *list->at);
    VEC_CLEAR(list);
}

/* ---- reserved words ---- */

enum { RESERVED_MAX = 8 };

/* The letters of a possibly reserved word, and its length: it may contain continued lines. */
typedef struct { char text[RESERVED_MAX + 1]; size_t n, bytes; } Reserved;

static size_t skip_continued(const SyntaxReader *x, size_t at) {
    while (syntax_peek(x, at) == '\\' && syntax_peek(x, at + 1) == '\n') at += 2;
    return at;
}

static Reserved peek_reserved(SyntaxReader *x) {
    Reserved r = { 0 };
    syntax_skip_blanks(x);
    size_t at = 0;
    for (;; at = skip_continued(x, at + 1)) {
        char c = syntax_peek(x, at);
        if (!((c >= 'a' && c <= 'z') || (c && strchr("{}![]", c)))) break;
        if (r.n == RESERVED_MAX) return (Reserved){ 0 };
        r.text[r.n++] = c;
    }
    char after = syntax_peek(x, at);
    r.bytes = at;
    bool whole = x->i + at >= x->s.n || (after && strchr(" \t\n;&|()<>", after));
    return whole ? r : (Reserved){ 0 };
}

static bool at_reserved(SyntaxReader *x, const char *word) { return strcmp(peek_reserved(x).text, word) == 0; }

static bool take_reserved(SyntaxReader *x, const char *word) {
    Reserved r = peek_reserved(x);
    if (strcmp(r.text, word) != 0) return false;
    x->i += r.bytes;
    return true;
}

static void expect(SyntaxReader *x, const char *word, const char *why) {
    if (!x->error && !take_reserved(x, word)) syntax_fail(x, why);
}

static void skip_newlines(SyntaxReader *x) {
    for (;;) {
        syntax_skip_blanks(x);
        if (syntax_peek(x, 0) != '\n') return;
        syntax_skip_newline(x);
    }
}

/* True if a list ends here. */
static bool at_closing(SyntaxReader *x) {
    static const char *const words[] = { "then", "do", "done", "fi", "else", "elif", "esac", "}" };
    char c = syntax_peek(x, 0);
    if (x->i >= x->s.n || c == ')') return true;
    if (c == ';' && (syntax_peek(x, 1) == ';' || syntax_peek(x, 1) == '&')) return true;
    Reserved word = peek_reserved(x);
    for (size_t i = 0; word.n && i < sizeof words / sizeof *words; i++)
        if (strcmp(word.text, words[i]) == 0) return true;
    return false;
}

/* ---- redirections ---- */

/* True at "<", ">" or "&>". *skip: length of the number or {name} before it. */
static bool at_redirect(const SyntaxReader *x, size_t *skip) {
    size_t n = 0;
    if (syntax_peek(x, 0) == '{') {
        for (n = 1; syntax_is_name(syntax_peek(x, n), n == 1);) n++;
        if (n == 1 || syntax_peek(x, n++) != '}') return false;
    } else while (syntax_peek(x, n) >= '0' && syntax_peek(x, n) <= '9') n++;
    char at = syntax_peek(x, n), next = syntax_peek(x, n + 1);
    *skip = n;
    if (at == '&' && next == '>' && n == 0) return true;
    return at == '<' || at == '>' ? next != '(' : false;
}

typedef struct { const char *text; ShellRedirectKind kind; int fd; bool both, tabs; } Operator;

static const Operator *take_operator(SyntaxReader *x) {
    static const Operator operators[] = {
        { "&>>", SHELL_APPEND, 1, true, false }, { "&>", SHELL_WRITE, 1, true, false }, { "<<<", SHELL_HERESTRING, 0, false, false },
        { "<<-", SHELL_HEREDOC, 0, false, true }, { "<<", SHELL_HEREDOC, 0, false, false }, { "<>", SHELL_READ_WRITE, 0, false, false },
        { "<&", SHELL_DUPLICATE, 0, false, false }, { "<", SHELL_READ, 0, false, false }, { ">>", SHELL_APPEND, 1, false, false },
        { ">|", SHELL_WRITE, 1, false, false }, { ">&", SHELL_DUPLICATE, 1, false, false }, { ">", SHELL_WRITE, 1, false, false },
    };
    Str rest = str_sub(x->s, x->i, x->i + 3);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        Str text = str_from(operators[i].text);
        if (!str_starts(rest, text)) continue;
        x->i += text.n;
        return &operators[i];
    }
    return NULL;                                               /* unreachable: at_redirect checked */
}

/* >&2, >&- and >&3- copy or close; >&file is &>file. */
static void read_duplicate(SyntaxRedirect *r, bool plain) {
    Str target = syntax_literal(&r->word);
    bool number = target.n > 0;
    for (size_t i = 0; i < target.n; i++) number = number && ((target.at[i] >= '0' && target.at[i] <= '9') || (target.at[i] == '-' && i + 1 == target.n));
    if (number || r->fd == 0) return;
    r->kind = SHELL_WRITE;
    r->both = plain;
}

static int read_number(const SyntaxReader *x, size_t n) {
    int v = 0;
    for (size_t i = 0; i < n && v < 1000000; i++) v = v * 10 + (syntax_peek(x, i) - '0');
    return v;
}

static SyntaxRedirect *parse_redirect(SyntaxReader *x, size_t skip) {
    SyntaxRedirect *r = ARENA_NEW(x->arena, SyntaxRedirect);
    int fd = skip == 0 || syntax_peek(x, 0) == '{' ? -1 : read_number(x, skip);
    x->i += skip;
    const Operator *op = take_operator(x);
    if (!op) {
        syntax_fail(x, "a redirection is not supported");
        return r;
    }
    r->kind = op->kind;
    r->both = op->both;
    r->fd = skip == 0 ? op->fd : fd;
    syntax_skip_blanks(x);
    if (!syntax_read_word(x, &r->word)) {
        syntax_fail(x, "a redirection has no target");
        return r;
    }
    if (r->kind == SHELL_DUPLICATE) read_duplicate(r, skip == 0);
    if (r->kind != SHELL_HEREDOC) return r;
    Str end = syntax_literal(&r->word);
    if (end.n < r->word.n) syntax_fail(x, "the end of a here-document is not literal");
    else VEC_PUSH(&x->heredocs, (SyntaxHeredoc){ r, end, r->word.quoted, op->tabs });
    r->word = (SyntaxWord){ 0 };
    return r;
}

static void keep_redirects(SyntaxReader *x, SyntaxNode *node, Redirects *list) {
    node->redirects = ARENA_ARRAY(x->arena, SyntaxRedirect *, list->n);
    node->redirects_n = list->n;
    if (list->n) memcpy(node->redirects, list->at, list->n * sizeof *list->at);
    VEC_CLEAR(list);
}

static SyntaxNode *parse_redirects(SyntaxReader *x, SyntaxNode *node) {
    Redirects list = { 0 };
    size_t skip;
    for (syntax_skip_blanks(x); !x->error && at_redirect(x, &skip); syntax_skip_blanks(x)) VEC_PUSH(&list, parse_redirect(x, skip));
    keep_redirects(x, node, &list);
    return end_node(x, node);
}

/* ---- simple commands and functions ---- */

static SyntaxNode *parse_function_body(SyntaxReader *x, Str name) {
    SyntaxNode *f = new_node(x, SYNTAX_FUNCTION);
    f->name = name;
    skip_newlines(x);
    Nodes body = { 0 };
    SyntaxNode *c = parse_command(x);
    if (c) VEC_PUSH(&body, c);
    else syntax_fail(x, "a function has no body");
    keep_children(x, f, &body);
    return end_node(x, f);
}

static bool take_parentheses(SyntaxReader *x) {
    size_t save = x->i;
    syntax_skip_blanks(x);
    if (syntax_peek(x, 0) == '(') {
        x->i++;
        syntax_skip_blanks(x);
        if (syntax_peek(x, 0) == ')') {
            x->i++;
            return true;
        }
    }
    x->i = save;
    return false;
}

static SyntaxNode *parse_simple(SyntaxReader *x) {
    SyntaxNode *node = new_node(x, SYNTAX_SIMPLE), *function = NULL;
    Words words = { 0 };
    Redirects redirects = { 0 };
    while (!x->error && !function) {
        size_t skip;
        SyntaxWord w;
        syntax_skip_blanks(x);
        if (at_redirect(x, &skip)) VEC_PUSH(&redirects, parse_redirect(x, skip));
        else if (!syntax_read_word(x, &w)) break;
        else if (words.n == 0 && redirects.n == 0 && !w.array && take_parentheses(x)) function = parse_function_body(x, syntax_literal(&w));
        else VEC_PUSH(&words, w);
        if (!function) end_node(x, node);
    }
    bool empty = words.n == 0 && redirects.n == 0;
    keep_words(x, node, &words);
    keep_redirects(x, node, &redirects);
    if (function) return function;
    return empty ? NULL : node;
}

/* ---- compound commands ---- */

static SyntaxNode *finish_compound(SyntaxReader *x, SyntaxNode *node, Nodes *children) {
    keep_children(x, node, children);
    return parse_redirects(x, node);
}

/* A non-empty list. */
static SyntaxNode *parse_body(SyntaxReader *x) {
    SyntaxNode *list = parse_list(x);
    if (list->children_n == 0) syntax_fail(x, "a command is missing");
    return list;
}

static SyntaxNode *parse_if(SyntaxReader *x, SyntaxNode *node) {
    Nodes all = { 0 };
    do {
        VEC_PUSH(&all, parse_body(x));
        expect(x, "then", "an if has no then");
        VEC_PUSH(&all, parse_body(x));
    } while (!x->error && take_reserved(x, "elif"));
    if (take_reserved(x, "else")) VEC_PUSH(&all, parse_body(x));
    expect(x, "fi", "an if has no fi");
    return finish_compound(x, node, &all);
}

/* True if `list` is one command with the single word `name`. */
static bool is_only(const SyntaxNode *list, const char *name) {
    while (list->kind != SYNTAX_SIMPLE && list->children_n == 1) list = list->children[0];
    return list->kind == SYNTAX_SIMPLE && list->words_n == 1 && str_eq(syntax_literal(&list->words[0]), str_from(name));
}

static SyntaxNode *parse_loop(SyntaxReader *x, SyntaxNode *node, bool until) {
    Nodes all = { 0 };
    SyntaxNode *condition = parse_body(x);
    VEC_PUSH(&all, condition);
    expect(x, "do", "a loop has no do");
    VEC_PUSH(&all, parse_body(x));
    expect(x, "done", "a loop has no done");
    node->kind = SYNTAX_LOOP;
    node->endless = until ? is_only(condition, "false") : is_only(condition, "true") || is_only(condition, ":");
    return finish_compound(x, node, &all);
}

/* (( ... )): only its substitutions run. */
static void read_arithmetic(SyntaxReader *x, SyntaxNode *node, size_t from, size_t end) {
    Words words = { 0 };
    VEC_PUSH(&words, syntax_read_text(x, str_sub(x->s, from, end - 2), from, end - 2));
    keep_words(x, node, &words);
    x->i = end;
}

static void parse_for_body(SyntaxReader *x, Nodes *body) {
    skip_newlines(x);
    if (syntax_peek(x, 0) == ';') x->i++;
    skip_newlines(x);
    bool braces = take_reserved(x, "{");
    if (!braces) expect(x, "do", "a for has no do");
    VEC_PUSH(body, parse_body(x));
    expect(x, braces ? "}" : "done", "a for has no done");
}

static bool is_endless_for(Str s) {
    s = str_trim(s);
    size_t parts = 0, i = 0;
    for (; i < s.n; i++) {
        if (s.at[i] == ';') parts++;
        else if (parts == 1 && s.at[i] != ' ') return false;       /* a condition */
    }
    return parts == 2;
}

static SyntaxNode *parse_for(SyntaxReader *x, SyntaxNode *node) {
    Nodes all = { 0 };
    SyntaxNode *heads = new_node(x, SYNTAX_WORDS);
    node->kind = SYNTAX_LOOP;
    syntax_skip_blanks(x);
    size_t end = syntax_peek(x, 0) == '(' && syntax_peek(x, 1) == '(' ? syntax_arithmetic_end(x, x->i + 2) : 0;
    if (end) {
        node->endless = is_endless_for(str_sub(x->s, x->i + 2, end - 2));
        read_arithmetic(x, heads, x->i + 2, end);
    } else {
        Words words = { 0 };
        SyntaxWord w;
        if (!syntax_read_word(x, &w)) syntax_fail(x, "a for has no name");
        skip_newlines(x);
        if (take_reserved(x, "in"))
            for (syntax_skip_blanks(x); syntax_read_word(x, &w); syntax_skip_blanks(x)) VEC_PUSH(&words, w);
        keep_words(x, heads, &words);
    }
    VEC_PUSH(&all, end_node(x, heads));
    parse_for_body(x, &all);
    return finish_compound(x, node, &all);
}

static void parse_patterns(SyntaxReader *x, Words *words) {
    SyntaxWord w;
    skip_newlines(x);
    if (syntax_peek(x, 0) == '(') x->i++;
    for (;;) {
        syntax_skip_blanks(x);
        if (syntax_read_word(x, &w)) VEC_PUSH(words, w);
        syntax_skip_blanks(x);
        if (syntax_peek(x, 0) != '|') break;
        x->i++;
    }
    if (syntax_peek(x, 0) == ')') x->i++;
    else syntax_fail(x, "a case pattern is not closed");
}

static SyntaxNode *parse_case(SyntaxReader *x, SyntaxNode *node) {
    Nodes all = { 0 };
    Words words = { 0 };
    SyntaxWord w;
    syntax_skip_blanks(x);
    if (syntax_read_word(x, &w)) VEC_PUSH(&words, w);
    skip_newlines(x);
    expect(x, "in", "a case has no in");
    for (skip_newlines(x); !x->error && x->i < x->s.n && !at_reserved(x, "esac"); skip_newlines(x)) {
        parse_patterns(x, &words);
        VEC_PUSH(&all, parse_list(x));
        syntax_skip_blanks(x);
        while (syntax_peek(x, 0) == ';' || syntax_peek(x, 0) == '&') x->i++;
    }
    expect(x, "esac", "a case has no esac");
    SyntaxNode *heads = new_node(x, SYNTAX_WORDS);
    keep_words(x, heads, &words);
    VEC_PUSH(&all, end_node(x, heads));
    return finish_compound(x, node, &all);
}

/* [[ ... ]]: only its substitutions run. */
static SyntaxNode *parse_condition(SyntaxReader *x, SyntaxNode *node) {
    Words words = { 0 };
    SyntaxWord w;
    node->kind = SYNTAX_WORDS;
    while (!x->error) {
        skip_newlines(x);
        if (x->i >= x->s.n) {
            syntax_fail(x, "a [[ is not closed");
            break;
        }
        if (take_reserved(x, "]]")) break;
        if (syntax_read_word(x, &w)) VEC_PUSH(&words, w);
        else x->i++;
    }
    keep_words(x, node, &words);
    return parse_redirects(x, node);
}

static SyntaxNode *parse_parentheses(SyntaxReader *x, SyntaxNode *node) {
    size_t end = syntax_peek(x, 1) == '(' ? syntax_arithmetic_end(x, x->i + 2) : 0;
    if (end) {
        node->kind = SYNTAX_WORDS;
        read_arithmetic(x, node, x->i + 2, end);
        return parse_redirects(x, node);
    }
    x->i++;
    Nodes all = { 0 };
    SyntaxNode *list = syntax_parse_until(x, ')');
    if (list && list->children_n == 0) syntax_fail(x, "a command is missing");
    if (list) VEC_PUSH(&all, list);
    return finish_compound(x, node, &all);
}

static SyntaxNode *parse_named_function(SyntaxReader *x) {
    SyntaxWord w;
    syntax_skip_blanks(x);
    if (!syntax_read_word(x, &w)) {
        syntax_fail(x, "a function has no name");
        return NULL;
    }
    take_parentheses(x);
    return parse_function_body(x, syntax_literal(&w));
}

static SyntaxNode *parse_group(SyntaxReader *x, SyntaxNode *node) {
    Nodes all = { 0 };
    VEC_PUSH(&all, parse_body(x));
    expect(x, "}", "a { is not closed");
    return finish_compound(x, node, &all);
}

static SyntaxNode *parse_plain_command(SyntaxReader *x) {
    SyntaxNode *node = new_node(x, SYNTAX_LIST);
    if (syntax_peek(x, 0) == '(') return parse_parentheses(x, node);
    if (take_reserved(x, "{")) return parse_group(x, node);
    if (take_reserved(x, "if")) return parse_if(x, node);
    if (take_reserved(x, "while")) return parse_loop(x, node, false);
    if (take_reserved(x, "until")) return parse_loop(x, node, true);
    if (take_reserved(x, "for") || take_reserved(x, "select")) return parse_for(x, node);
    if (take_reserved(x, "case")) return parse_case(x, node);
    if (take_reserved(x, "function")) return parse_named_function(x);
    if (take_reserved(x, "[[")) return parse_condition(x, node);
    return parse_simple(x);
}

static SyntaxNode *parse_command(SyntaxReader *x) {
    syntax_skip_blanks(x);
    if (!syntax_enter(x)) return NULL;
    SyntaxNode *node = parse_plain_command(x);
    x->depth--;
    return node;
}

/* ---- pipelines and lists ---- */

static bool at_compound(SyntaxReader *x) {
    static const char *const words[] = { "{", "if", "while", "until", "for", "select", "case", "[[" };
    syntax_skip_blanks(x);
    if (syntax_peek(x, 0) == '(') return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (at_reserved(x, words[i])) return true;
    return false;
}

/* coproc NAME { ...; }: skips the name only before a compound command. */
static void skip_coproc_name(SyntaxReader *x) {
    syntax_skip_blanks(x);
    size_t save = x->i, n = 0;
    if (at_compound(x)) return;
    while (syntax_is_name(syntax_peek(x, n), n == 0)) n++;
    x->i += n;
    if (n == 0 || (syntax_peek(x, 0) != ' ' && syntax_peek(x, 0) != '\t') || !at_compound(x)) x->i = save;
}

static void take_option(SyntaxReader *x, Str option) {
    syntax_skip_blanks(x);
    char after = syntax_peek(x, option.n);
    bool ends = x->i + option.n >= x->s.n || (after && strchr(" \t\n;&|()<>\\", after));
    if (ends && str_starts(str_sub(x->s, x->i, x->s.n), option)) x->i += option.n;
}

static void skip_prefixes(SyntaxReader *x) {
    for (;;) {
        syntax_skip_blanks(x);
        if (take_reserved(x, "!")) continue;
        if (take_reserved(x, "coproc")) {
            skip_coproc_name(x);
            continue;
        }
        if (!take_reserved(x, "time")) return;
        take_option(x, STR("-p"));
        take_option(x, STR("--"));
    }
}

static SyntaxNode *parse_pipeline(SyntaxReader *x) {
    Nodes all = { 0 };
    SyntaxNode *node = new_node(x, SYNTAX_PIPELINE);
    for (;;) {
        size_t before = x->i;
        skip_prefixes(x);
        bool prefixed = x->i > before;
        SyntaxNode *c = parse_command(x);
        if (c) VEC_PUSH(&all, c);
        else if (all.n || !prefixed) {
            syntax_fail(x, "a command is missing");
            break;
        }
        syntax_skip_blanks(x);
        if (x->error || syntax_peek(x, 0) != '|' || syntax_peek(x, 1) == '|') break;
        x->i += syntax_peek(x, 1) == '&' ? 2 : 1;
        skip_newlines(x);
    }
    keep_children(x, node, &all);
    return end_node(x, node);
}

/* Both sides of && and || may run. */
static SyntaxNode *parse_and_or(SyntaxReader *x) {
    Nodes all = { 0 };
    SyntaxNode *node = new_node(x, SYNTAX_LIST);
    for (;;) {
        VEC_PUSH(&all, parse_pipeline(x));
        syntax_skip_blanks(x);
        char c = syntax_peek(x, 0);
        if (x->error || (c != '&' && c != '|') || syntax_peek(x, 1) != c) break;
        x->i += 2;
        skip_newlines(x);
    }
    keep_children(x, node, &all);
    return end_node(x, node);
}

static SyntaxNode *parse_list(SyntaxReader *x) {
    Nodes all = { 0 };
    SyntaxNode *list = new_node(x, SYNTAX_LIST);
    for (skip_newlines(x); !x->error && !at_closing(x); skip_newlines(x)) {
        size_t before = x->i;
        SyntaxNode *node = parse_and_or(x);
        VEC_PUSH(&all, node);
        syntax_skip_blanks(x);
        char c = syntax_peek(x, 0), next = syntax_peek(x, 1);
        if (c == '&') node->background = true;
        bool closing = c == ';' && (next == ';' || next == '&');
        bool ends = x->i >= x->s.n || c == ')' || c == '\n' || closing;
        if ((c == '&' || c == ';') && !closing) x->i++;
        else if (!ends && !x->error && !at_closing(x)) syntax_fail(x, "unexpected character");
        if (x->i == before && !x->error) syntax_fail(x, "unexpected character");
    }
    keep_children(x, list, &all);
    return end_node(x, list);
}

SyntaxNode *syntax_parse_until(SyntaxReader *x, char close) {
    if (!syntax_enter(x)) return NULL;
    SyntaxNode *list = parse_list(x);
    x->depth--;
    if (x->error) return list;
    if (syntax_peek(x, 0) == close) x->i++;
    else syntax_fail(x, "a ( is not closed");
    return list;
}

SyntaxNode *syntax_parse(SyntaxReader *x) {
    if (*x->work < x->s.n) syntax_fail(x, "it is too complex");
    else *x->work -= x->s.n;
    SyntaxNode *node = parse_list(x);
    if (!x->error && x->i < x->s.n) syntax_fail(x, "a closing word or bracket has no opening one");
    if (!x->error && x->heredocs.n) syntax_skip_newline(x);
    return node;
}
