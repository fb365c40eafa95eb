/* Text → nodes. The tag syntax follows Handlebars' lexer; unsupported features have their own messages. */
#include "base/utf8.h"
#include "base/vec.h"
#include "template/ast.h"

typedef VEC(AstNode) Nodes;
typedef struct { Template *t; Str text; size_t at; unsigned depth; Error *err; } Parser;

/* The kinds of tags. */
typedef enum { TAG_VALUE, TAG_COMMENT, TAG_OPEN, TAG_CLOSE, TAG_ELSE, TAG_ELSE_BLOCK, TAG_END } TagKind;
typedef struct {
    TagKind kind;
    uint32_t at;
    AstStrip strip;
    bool raw;
    AstKind block;
    AstPath path;
} Tag;

void ast_place(Str text, size_t at, uint32_t *line, uint32_t *column) {
    size_t start = 0;
    *line = 1;
    for (size_t i = 0; i < at && i < text.n; i++)
        if (text.at[i] == '\n') ++*line, start = i + 1;
    *column = (uint32_t)utf8_count(str_sub(text, start, at)) + 1;
}

bool ast_error(Error *err, ErrorKind kind, Str text, size_t at, const char *fmt, ...) {
    uint32_t line, column;
    va_list ap;
    va_start(ap, fmt);
    error_set_v(err, kind, fmt, ap);
    va_end(ap);
    ast_place(text, at, &line, &column);
    return error_place(err, NULL, line, column);
}

#define FAIL(p, where, ...) ast_error((p)->err, ERR_PARSE, (p)->text, where, __VA_ARGS__)

void ast_path_text(Buf *out, const AstPath *path) {
    if (path->data) buf_add_char(out, '@');
    for (uint32_t i = 0; i < path->depth; i++) buf_add(out, STR("../"));
    if (path->n == 0) {
        if (path->depth) out->n--, out->at[out->n] = 0;
        else buf_add(out, STR("this"));
    }
    for (uint32_t i = 0; i < path->n; i++) {
        if (i) buf_add_char(out, '.');
        buf_add(out, path->part[i]);
    }
}

/* ---- inside a tag ---- */

static char peek(const Parser *p) { return p->at < p->text.n ? p->text.at[p->at] : 0; }
static Str rest(const Parser *p) { return str_sub(p->text, p->at, p->text.n); }
static bool looking_at(const Parser *p, Str s) { return str_starts(rest(p), s); }

static bool skip(Parser *p, Str s) {
    bool found = looking_at(p, s);
    if (found) p->at += s.n;
    return found;
}

static void skip_spaces(Parser *p) {
    for (size_t n; (n = ast_space(rest(p))) > 0;) p->at += n;
}

static bool is_name_byte(char c) {
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c && strchr("$-:?_", c));
}

static Str take_name(Parser *p) {
    size_t start = p->at;
    while (is_name_byte(peek(p)) && !ast_space(rest(p))) p->at++;
    return str_sub(p->text, start, p->at);
}

/* [any text], with \] for a ] inside. */
static bool take_bracketed(Parser *p, Str *out) {
    size_t start = p->at++;
    Buf b = { 0 };
    while (p->at < p->text.n && peek(p) != ']') {
        if (peek(p) == '\\' && p->at + 1 < p->text.n && strchr("\\]", p->text.at[p->at + 1])) p->at++;
        buf_add_char(&b, p->text.at[p->at++]);
    }
    *out = arena_str(&p->t->arena, buf_str(&b));
    buf_clear(&b);
    return skip(p, STR("]")) || FAIL(p, start, "[ without ]");
}

/* One step of a path: "..", ".", a name or [text]. `literal`: [text], which is never "this". */
static bool take_part(Parser *p, Str *out, bool *literal) {
    *literal = peek(p) == '[';
    if (*literal) return take_bracketed(p, out);
    if (looking_at(p, STR("..")) || looking_at(p, STR("."))) {
        *out = looking_at(p, STR("..")) ? STR("..") : STR(".");
        p->at += out->n;
        return true;
    }
    size_t start = p->at;
    *out = take_name(p);
    if (out->n) return true;
    if (p->at >= p->text.n) return FAIL(p, start, "{{ without }}");
    if (peek(p) == '"' || peek(p) == '\'') return FAIL(p, start, "text in quotes is not supported here: name a value");
    if (peek(p) == '(') return FAIL(p, start, "subexpressions are not supported");
    return FAIL(p, start, "expected the name of a value");
}

static bool is_number(Str s) {
    size_t i = s.n && s.at[0] == '-';
    for (; i < s.n && s.at[i] >= '0' && s.at[i] <= '9';) i++;
    return i == s.n && s.n > 0 && s.at[s.n - 1] != '-';
}

static bool is_literal(Str s) {
    return is_number(s) || str_eq(s, STR("true")) || str_eq(s, STR("false")) || str_eq(s, STR("null")) || str_eq(s, STR("undefined"));
}

enum { PATH_PARTS_MAX = 64 };

static bool parse_path(Parser *p, AstPath *out, Error *err) {
    size_t start = p->at;
    Str part[PATH_PARTS_MAX];
    *out = (AstPath){ .data = skip(p, STR("@")) };
    bool literal = false;
    for (uint32_t steps = 0;; steps++) {
        if (steps == PATH_PARTS_MAX) return ast_error(err, ERR_LIMIT, p->text, start, "path of more than %d parts", PATH_PARTS_MAX);
        size_t here = p->at;
        if (!take_part(p, &part[out->n], &literal)) return false;
        Str s = part[out->n];
        bool parent = !literal && str_eq(s, STR("..")), self = !literal && (str_eq(s, STR(".")) || str_eq(s, STR("this")));
        if ((parent || self) && out->n) return FAIL(p, here, "\"" STR_FMT "\" may only start a path", STR_ARG(s));
        if (parent) out->depth++;
        else if (!self) out->n++;
        bool more = peek(p) == '.' || peek(p) == '/';
        if (!literal && !more && is_literal(s)) {
            if (steps == 0) return FAIL(p, start, "literals are not supported: name a value");
            if (is_number(s)) return FAIL(p, here, "write .[" STR_FMT "] for an index at the end of a path", STR_ARG(s));
        }
        if (!more) { out->plain = steps == 0 && !literal && !out->data && out->n == 1; break; }
        p->at++;
    }
    out->part = ARENA_ARRAY(&p->t->arena, Str, out->n);
    if (out->n) memcpy(out->part, part, out->n * sizeof *part);
    return true;
}

static bool is_close_next(const Parser *p) {
    return looking_at(p, STR("}}")) || looking_at(p, STR("~}}")) || looking_at(p, STR("}~}}"));
}

/* Parses the end of a tag that was opened with "{{" or, if raw3, with "{{{". */
static bool take_close(Parser *p, Tag *tag, bool raw3) {
    skip_spaces(p);
    bool three = looking_at(p, STR("}}}")) || looking_at(p, STR("}~}}"));
    if (three != raw3 && is_close_next(p))
        return FAIL(p, p->at, raw3 ? "{{{ must end in }}}" : "one } too many after the tag");
    if (three) p->at++;
    tag->strip.close = skip(p, STR("~"));
    if (skip(p, STR("}}"))) return true;
    if (p->at >= p->text.n) return FAIL(p, tag->at, "{{ without }}");
    if (looking_at(p, STR("as ")) || peek(p) == '|') return FAIL(p, p->at, "block parameters (as |x|) are not supported");
    return FAIL(p, p->at, "only one name is allowed here: helpers with arguments are not supported");
}

/* Parses the end of {{else}}. As in Handlebars, a further } is text. */
static bool take_else_close(Parser *p, Tag *tag) {
    skip_spaces(p);
    tag->strip.close = skip(p, STR("~"));
    return skip(p, STR("}}")) || FAIL(p, tag->at, "{{else without }}");
}

static const struct { Str name; AstKind kind; } blocks[] = {
    { STR("if"), AST_IF }, { STR("unless"), AST_UNLESS }, { STR("each"), AST_EACH }, { STR("with"), AST_WITH },
};
enum { N_BLOCKS = sizeof blocks / sizeof *blocks };

static bool take_block_name(Parser *p, AstKind *out) {
    skip_spaces(p);
    size_t start = p->at;
    Str name = take_name(p);
    for (size_t i = 0; i < N_BLOCKS; i++)
        if (str_eq(name, blocks[i].name)) return *out = blocks[i].kind, true;
    FAIL(p, start, "unknown block \"" STR_FMT "\"", STR_ARG(name));
    return error_hint(p->err, "use if, unless, each or with");
}

static const char *block_name(AstKind kind) {
    for (size_t i = 0; i < N_BLOCKS; i++)
        if (blocks[i].kind == kind) return blocks[i].name.at;
    return "?";
}

static bool parse_open(Parser *p, Tag *tag) {
    if (!take_block_name(p, &tag->block)) return false;
    skip_spaces(p);
    if (is_close_next(p)) return FAIL(p, p->at, "#%s needs the name of a value", block_name(tag->block));
    return parse_path(p, &tag->path, p->err) && take_close(p, tag, false);
}

/* A helper's name alone would call that helper. In a command, parameters take precedence over the less common
 * helpers. */
static bool check_name(Parser *p, const Tag *tag) {
    static const Str helpers[] = { STR("if"), STR("unless"), STR("each"), STR("with"), STR("log"), STR("lookup") };
    for (size_t i = 0; tag->path.plain && i < (p->t->command ? 4 : 6); i++)
        if (str_eq(tag->path.part[0], helpers[i])) {
            FAIL(p, tag->at, "\"%s\" is the name of a helper", helpers[i].at);
            return error_hint(p->err, "for a value of that name write {{this.%s}}", helpers[i].at);
        }
    return true;
}

static bool parse_value(Parser *p, Tag *tag, bool raw3) {
    tag->kind = TAG_VALUE;
    skip_spaces(p);
    return parse_path(p, &tag->path, p->err) && take_close(p, tag, raw3) && check_name(p, tag);
}

static bool parse_comment(Parser *p, Tag *tag) {
    bool dashes = looking_at(p, STR("!--"));
    size_t from = ++p->at;
    for (Str s = rest(p);; s = str_sub(s, 1, s.n)) {
        ptrdiff_t end = str_find(s, dashes ? STR("--") : STR("}}"));
        if (end < 0) return FAIL(p, tag->at, dashes ? "{{!-- without --}}" : "{{! without }}");
        s = str_sub(s, (size_t)end, s.n);
        size_t offset = (size_t)(s.at - p->text.at);
        if (!dashes) {
            tag->strip.close = offset > from && p->text.at[offset - 1] == '~';
            p->at = offset + 2;
            return true;
        }
        tag->strip.close = str_starts(s, STR("--~}}"));
        if (!tag->strip.close && !str_starts(s, STR("--}}"))) continue;
        p->at = offset + (tag->strip.close ? 5 : 4);
        return true;
    }
}

/* Parses {{else}} and {{else if x}}; returns false without an error if it is neither. */
static bool parse_else(Parser *p, Tag *tag, bool *is_else) {
    size_t start = p->at;
    skip_spaces(p);
    *is_else = skip(p, STR("else")) && !(is_name_byte(peek(p)) && peek(p) != '-' && peek(p) != '$' && peek(p) != ':' && peek(p) != '?');
    if (!*is_else) return p->at = start, true;
    skip_spaces(p);
    tag->kind = is_close_next(p) ? TAG_ELSE : TAG_ELSE_BLOCK;
    return tag->kind == TAG_ELSE ? take_else_close(p, tag) : parse_open(p, tag);
}

static bool parse_tag(Parser *p, Tag *tag) {
    *tag = (Tag){ .at = (uint32_t)p->at };
    if (looking_at(p, STR("{{{{"))) return FAIL(p, p->at, "raw blocks ({{{{…}}}}) are not supported");
    p->at += 2;
    tag->strip.open = skip(p, STR("~"));
    bool is_else;
    switch (peek(p)) {
    case '!': tag->kind = TAG_COMMENT; return parse_comment(p, tag);
    case '>': return FAIL(p, tag->at, "partials are not supported");
    case '*': return FAIL(p, tag->at, "decorators are not supported");
    case '{': p->at++; tag->raw = true; return parse_value(p, tag, true);
    case '&': p->at++; tag->raw = true; return parse_value(p, tag, false);
    case '#':
        p->at++;
        tag->kind = TAG_OPEN;
        if (peek(p) == '>') return FAIL(p, tag->at, "partials are not supported");
        if (peek(p) == '*') return FAIL(p, tag->at, "decorators are not supported");
        return parse_open(p, tag);
    case '/': p->at++; tag->kind = TAG_CLOSE; return take_block_name(p, &tag->block) && take_close(p, tag, false);
    case '^':
        p->at++;
        skip_spaces(p);
        tag->kind = TAG_ELSE;
        return is_close_next(p) ? take_else_close(p, tag) : FAIL(p, tag->at, "{{^x}} is not supported: write {{#unless x}}");
    default:
        if (!parse_else(p, tag, &is_else)) return false;
        return is_else || parse_value(p, tag, false);
    }
}

/* ---- bodies ---- */

static void add_text(Nodes *out, Str s, Str whole) {
    if (s.n) VEC_PUSH(out, (AstNode){ .kind = AST_TEXT, .text = s, .original = s, .at = (uint32_t)(s.at - whole.at), .param = -1 });
}

/* Adds the text up to the next tag. \{{ is a literal {{ that starts a new text, \\{{ a backslash and a tag. */
static void take_text(Parser *p, Nodes *out) {
    for (;;) {
        Str s = rest(p);
        ptrdiff_t found = str_find(s, STR("{{"));
        size_t n = found < 0 ? s.n : (size_t)found;
        p->at += n;
        if (found < 0 || n == 0 || s.at[n - 1] != '\\') return add_text(out, str_sub(s, 0, n), p->text);
        add_text(out, str_sub(s, 0, n - 1), p->text);
        if (n >= 2 && s.at[n - 2] == '\\') return;
        s = rest(p);
        ptrdiff_t next = str_find(str_sub(s, 2, s.n), STR("{{"));
        size_t end = next < 0 ? s.n : (size_t)next + 2;
        for (int i = 0; i < 2 && next >= 0 && end > 2 && s.at[end - 1] == '\\'; i++) end--;
        add_text(out, str_sub(s, 0, end), p->text);
        p->at += end;
    }
}

static bool parse_body(Parser *p, AstBody *out, Tag *stop);
static bool parse_block(Parser *p, const Tag *open, AstNode *out, Tag *end);

/* Parses the part after {{else}} or {{else if x}}, up to the closing tag. */
static bool parse_other(Parser *p, const Tag *middle, AstNode *block, Tag *end) {
    block->middle = middle->strip;
    block->other = ARENA_NEW(&p->t->arena, AstBody);
    if (middle->kind == TAG_ELSE) {
        if (!parse_body(p, block->other, end)) return false;
        return end->kind == TAG_CLOSE || end->kind == TAG_END || FAIL(p, end->at, "a block may have only one {{else}}, as its last part");
    }
    AstNode *inner = ARENA_NEW(&p->t->arena, AstNode);
    block->chained = true;
    *block->other = (AstBody){ inner, 1 };
    return parse_block(p, middle, inner, end);
}

/* Parses one block after its opening tag. `end` is the closing tag, which an else-if shares with the block it
 * continues. */
static bool parse_block(Parser *p, const Tag *open, AstNode *out, Tag *end) {
    if (++p->depth > TEMPLATE_DEPTH_MAX)
        return ast_error(p->err, ERR_LIMIT, p->text, open->at, "blocks nested more than %d deep", TEMPLATE_DEPTH_MAX);
    *out = (AstNode){ .kind = open->block, .at = open->at, .strip = open->strip, .path = open->path, .param = -1 };
    out->main = ARENA_NEW(&p->t->arena, AstBody);
    if (!parse_body(p, out->main, end)) return false;
    Tag middle = *end;
    if ((middle.kind == TAG_ELSE || middle.kind == TAG_ELSE_BLOCK) && !parse_other(p, &middle, out, end)) return false;
    if (end->kind == TAG_END) return FAIL(p, open->at, "{{#%s}} is never closed", block_name(open->block));
    out->end = end->strip;
    if (out->chained && out->other->node[0].chained)       /* as in Handlebars: from the third link on, its own strip flags */
        out->other->node[0].other->node[0].end = out->other->node[0].other->node[0].strip;
    p->depth--;
    return true;
}

static bool parse_nodes(Parser *p, Nodes *nodes, Tag *stop) {
    for (;;) {
        take_text(p, nodes);
        *stop = (Tag){ .kind = TAG_END, .at = (uint32_t)p->at };
        if (p->at >= p->text.n) return true;
        Tag tag, end;
        AstNode node;
        if (!parse_tag(p, &tag)) return false;
        switch (tag.kind) {
        case TAG_OPEN:
            if (!parse_block(p, &tag, &node, &end)) return false;
            if (end.block != tag.block)
                return FAIL(p, end.at, "{{/%s}} closes {{#%s}}", block_name(end.block), block_name(tag.block));
            VEC_PUSH(nodes, node);
            break;
        case TAG_VALUE: case TAG_COMMENT:
            p->t->has_raw |= tag.raw;
            VEC_PUSH(nodes, (AstNode){ .kind = tag.kind == TAG_VALUE ? AST_VALUE : AST_COMMENT, .at = tag.at, .strip = tag.strip,
                                       .raw = tag.raw, .path = tag.path, .param = -1 });
            break;
        default: *stop = tag; return true;
        }
    }
}

static bool parse_body(Parser *p, AstBody *out, Tag *stop) {
    Nodes nodes = { 0 };
    bool ok = parse_nodes(p, &nodes, stop);
    *out = (AstBody){ ARENA_ARRAY(&p->t->arena, AstNode, nodes.n), nodes.n };
    if (nodes.n) memcpy(out->node, nodes.at, nodes.n * sizeof *nodes.at);
    VEC_CLEAR(&nodes);
    return ok;
}

bool ast_parse(Template *t, Error *err) {
    Parser p = { .t = t, .text = t->text, .err = err };
    Tag stop;
    ptrdiff_t nul = str_find_char(t->text, 0);
    if (nul >= 0) return FAIL(&p, (size_t)nul, "a template may not contain NUL");
    size_t valid = utf8_valid_prefix(t->text);
    if (valid < t->text.n) return FAIL(&p, valid, "a template must be valid UTF-8");
    if (!parse_body(&p, &t->body, &stop)) return false;
    if (stop.kind == TAG_CLOSE) return FAIL(&p, stop.at, "{{/%s}} closes nothing", block_name(stop.block));
    if (stop.kind != TAG_END) return FAIL(&p, stop.at, "{{else}} outside a block");
    ast_trim(&t->body);
    return true;
}
