#include "starlark/syntax/lexer.h"
#include <stdio.h>
#include "base/utf8.h"
#include "base/unicode.h"
#include "starlark/syntax/literal.h"

static const char *const texts[] = {
#define TOKEN(name, text) text,
#include "starlark/syntax/token.def"
};
static const char *const quoted_texts[] = {
#define TOKEN(name, text) "'" text "'",
#include "starlark/syntax/token.def"
};
static const struct { Str text; Token token; } keywords[] = {
#define TOKEN(name, text)
#define KEYWORD(name, text) { { text, sizeof text - 1 }, TOKEN_##name },
#define RESERVED(name, text) { { text, sizeof text - 1 }, TOKEN_##name },
#include "starlark/syntax/token.def"
};
enum { KEYWORDS = sizeof keywords / sizeof *keywords, KEYWORD_LONGEST = 8 };

const char *token_text(Token t) { return texts[t]; }
const char *token_quoted(Token t) {
    return t >= TOKEN_PLUS && t <= TOKEN_STARSTAR ? quoted_texts[t] : texts[t];
}

/* ------------------------------------------------------------------ characters */

#define END_OF_TEXT UINT32_MAX

/* Returns the next character without consuming it; any newline is '\n'. */
static uint32_t peek(const Lexer *lx) {
    if (lx->at == lx->end) return END_OF_TEXT;
    unsigned char c = (unsigned char)*lx->at;
    if (c == '\r') return '\n';
    if (c < 0x80) return c;
    size_t n;
    return utf8_decode((Str){ lx->at, (size_t)(lx->end - lx->at) }, &n);
}

static bool peek_is(const Lexer *lx, char c) { return lx->at < lx->end && *lx->at == c; }

static void skip_newline(Lexer *lx) {
    if (*lx->at++ == '\r' && peek_is(lx, '\n')) lx->at++;
    lx->pos.line++;
    lx->pos.col = 1;
}

static void skip(Lexer *lx) {
    unsigned char c = (unsigned char)*lx->at;
    if (c == '\n' || c == '\r') {
        skip_newline(lx);
        return;
    }
    size_t n = 1;
    if (c >= 0x80) utf8_decode((Str){ lx->at, (size_t)(lx->end - lx->at) }, &n);
    lx->at += n;
    lx->pos.col++;
}

/* For bytes known to be ASCII and not a newline. */
static void skip_ascii(Lexer *lx, size_t n) {
    lx->at += n;
    lx->pos.col += (uint32_t)n;
}

static bool skip_if(Lexer *lx, char c) {
    if (!peek_is(lx, c)) return false;
    skip_ascii(lx, 1);
    return true;
}

static bool is_digit(uint32_t c) { return c >= '0' && c <= '9'; }
static bool is_name_start(uint32_t c) { return c == '_' || (c != END_OF_TEXT && unicode_is_letter(c)); }
static bool is_name(uint32_t c) { return is_digit(c) || is_name_start(c); }
static bool is_ascii_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

static bool fail_character(Lexer *lx, Error *err, uint32_t c) {
    char shown[16];
    if (c < 0x20 || c == 0x7f) snprintf(shown, sizeof shown, "\\x%02x", (unsigned)c);
    else if (c == '\'' || c == '\\') snprintf(shown, sizeof shown, "\\%c", (char)c);
    else if ((c >= 0x80 && c <= 0xa0) || c == 0xad || c == 0xfeff || (c >= 0x2000 && c < 0x2070))  /* invisible? */
        snprintf(shown, sizeof shown, "\\u%04x", (unsigned)c);
    else {
        size_t n = utf8_encode(c, shown);
        shown[n] = 0;
    }
    return source_error(lx->source, err, lx->pos, "unexpected input character '%s'", shown);
}

/* ------------------------------------------------------------------ initialization */

static Pos pos_of(Str text, size_t offset) {
    Lexer lx = { .at = text.at, .end = text.at + offset, .pos = { 1, 1 } };
    while (lx.at < lx.end) skip(&lx);
    return lx.pos;
}

bool lexer_init(Lexer *lx, const Source *source, Heap *heap, Dict *names, Error *err) {
    Str text = source->text;
    *lx = (Lexer){ .source = source, .heap = heap, .names = names, .at = text.n ? text.at : "", .pos = { 1, 1 },
                   .levels = 1, .line_start = true };
    lx->end = lx->at;
    if (text.n > LEXER_TEXT_MAX)
        return source_error(source, err, lx->pos, "source is too long (limit %d bytes)", LEXER_TEXT_MAX);
    size_t valid = utf8_valid_prefix(text);
    if (valid < text.n) return source_error(source, err, pos_of(text, valid), "invalid UTF-8 in source");
    lx->end = lx->at + text.n;
    return true;
}

void lexer_clear(Lexer *lx) { buf_clear(&lx->scratch); }

/* ------------------------------------------------------------------ lines */

/* Measures the white space at the start of a line. A tab advances to the next multiple of 8. */
static uint32_t skip_indentation(Lexer *lx) {
    uint32_t col = 0;
    for (;; skip_ascii(lx, 1)) {
        if (peek_is(lx, ' ')) col++;
        else if (peek_is(lx, '\t')) col += 8 - (lx->pos.col - 1) % 8;
        else return col;
    }
}

static bool indent_to(Lexer *lx, uint32_t col, Error *err) {
    if (col > lx->indent[lx->levels - 1]) {
        if (lx->levels == LEXER_INDENT_MAX) return source_error(lx->source, err, lx->pos, "nested too deeply");
        lx->indent[lx->levels++] = col;
        lx->dents++;
        return true;
    }
    for (; col < lx->indent[lx->levels - 1]; lx->levels--) lx->dents--;
    if (col != lx->indent[lx->levels - 1])
        return source_error(lx->source, err, lx->pos, "unindent does not match any outer indentation level")
               || error_hint(err, "start the line in the column of the block that it belongs to");
    return true;
}

static void skip_comment(Lexer *lx) {
    while (lx->at < lx->end && *lx->at != '\n' && *lx->at != '\r') skip(lx);
}

static bool skip_continuation(Lexer *lx, Error *err) {
    skip_ascii(lx, 1);
    if (peek(lx) != '\n') {
        lx->unfinished = lx->at == lx->end;
        return source_error(lx->source, err, lx->pos, "stray backslash in program");
    }
    skip_newline(lx);
    return true;
}

static bool give(Lexer *lx, Lexeme *out, Token kind) {
    *out = (Lexeme){ .kind = kind, .pos = lx->pos, .raw = { lx->at, 0 }, .value = VALUE_GONE };
    return true;
}

static bool give_dent(Lexer *lx, Lexeme *out) {
    bool in = lx->dents > 0;
    lx->dents += in ? -1 : 1;
    return give(lx, out, in ? TOKEN_INDENT : TOKEN_OUTDENT);
}

/* ------------------------------------------------------------------ tokens */

static Token find_keyword(Str word) {
    if (word.n < 2 || word.n > KEYWORD_LONGEST) return TOKEN_IDENT;
    for (size_t i = 0; i < KEYWORDS; i++)
        if (keywords[i].text.at[0] == word.at[0] && str_eq(keywords[i].text, word)) return keywords[i].token;
    return TOKEN_IDENT;
}

static bool scan_name(Lexer *lx, Lexeme *out, Error *err) {
    for (;;) {
        if (lx->at < lx->end && is_ascii_name(*lx->at)) skip_ascii(lx, 1);
        else if (is_name(peek(lx))) skip(lx);
        else break;
    }
    out->raw.n = (size_t)(lx->at - out->raw.at);
    out->kind = find_keyword(out->raw);
    if (out->kind != TOKEN_IDENT) return true;
    String *name = string_intern(lx->heap, lx->names, out->raw, err);
    if (!name) return false;
    out->value = value_from_object(name);
    return true;
}

/* Length of a string prefix (r, b, rb, br) that is followed by a quote; -1 if no string starts here. */
static int string_prefix(const Lexer *lx, LiteralForm *form) {
    *form = (LiteralForm){ 0 };
    for (int i = 0; lx->at + i < lx->end; i++) {
        char c = lx->at[i];
        if (c == '"' || c == '\'') return i;
        bool *flag = c == 'r' ? &form->raw : c == 'b' ? &form->bytes : NULL;
        if (!flag || *flag) return -1;
        *flag = true;
    }
    return -1;
}

/* Skips past the closing quote. *body is the text between the quotes; *plain is set if it has no escape and no "\r". */
static bool skip_string(Lexer *lx, Pos start, Str *body, bool *plain, Error *err) {
    char quote = *lx->at;
    bool triple = lx->end - lx->at >= 3 && lx->at[1] == quote && lx->at[2] == quote;
    skip_ascii(lx, triple ? 3 : 1);
    body->at = lx->at;
    *plain = true;
    for (int quotes = 0; quotes < (triple ? 3 : 1);) {
        uint32_t c = peek(lx);
        if (c == END_OF_TEXT) {
            lx->unfinished = triple;
            return source_error(lx->source, err, start, "unexpected EOF in string");
        }
        if (c == '\n' && !triple) return source_error(lx->source, err, start, "unexpected newline in string");
        if (c == '\\' || *lx->at == '\r') *plain = false;
        quotes = c == (unsigned char)quote ? quotes + 1 : 0;
        skip(lx);
        if (c != '\\') continue;
        if (lx->at < lx->end) skip(lx);
    }
    body->n = (size_t)(lx->at - body->at) - (triple ? 3 : 1);
    return true;
}

static bool scan_string(Lexer *lx, Lexeme *out, int prefix, LiteralForm form, Error *err) {
    skip_ascii(lx, (size_t)prefix);
    Pos quote = lx->pos;
    Str body;
    bool plain;
    if (!skip_string(lx, out->pos, &body, &plain, err)) return false;
    if (!plain) {
        char why[LITERAL_WHY_SIZE];
        buf_reset(&lx->scratch);
        if (!literal_unescape(body, form, &lx->scratch, why)) return source_error(lx->source, err, quote, "%s", why);
        body = buf_str(&lx->scratch);
    }
    String *s = form.bytes ? bytes_new(lx->heap, body, err) : string_intern(lx->heap, lx->names, body, err);
    if (!s) return false;
    out->kind = form.bytes ? TOKEN_BYTES : TOKEN_STRING;
    out->value = value_from_object(s);
    out->raw.n = (size_t)(lx->at - out->raw.at);
    return true;
}

static bool scan_number(Lexer *lx, Lexeme *out, Error *err) {
    LiteralNumber num = literal_scan_number((Str){ lx->at, (size_t)(lx->end - lx->at) });
    skip_ascii(lx, num.length);
    out->raw.n = num.length;
    Pos at = num.at_end ? lx->pos : out->pos;
    if (num.error) return source_error(lx->source, err, at, "%s", num.error);
    if (num.old_octal)
        return source_error(lx->source, err, at, "obsolete form of octal literal; use 0o" STR_FMT,
                            STR_ARG(str_sub(out->raw, 1, 64)));
    out->kind = num.is_float ? TOKEN_FLOAT : TOKEN_INT;
    if (num.is_float) {
        double d;
        if (!literal_float(out->raw, &lx->scratch, &d))
            return source_error(lx->source, err, lx->pos, "invalid float literal");
        out->value = value_from_float(d);
        return true;
    }
    Error why = { 0 };
    if (!int_parse(lx->heap, str_sub(out->raw, num.base == 10 ? 0 : 2, out->raw.n), num.base, &out->value, &why))
        return source_error(lx->source, err, out->pos, "%s", why.kind == ERR_LIMIT ? why.msg : "invalid int literal");
    return true;
}

static Token bracket(Lexer *lx, uint32_t c) {
    switch (c) {
    case '(': lx->depth++; return TOKEN_LPAREN;
    case '[': lx->depth++; return TOKEN_LBRACK;
    case '{': lx->depth++; return TOKEN_LBRACE;
    case ')': lx->depth--; return TOKEN_RPAREN;
    case ']': lx->depth--; return TOKEN_RBRACK;
    default: lx->depth--; return TOKEN_RBRACE;
    }
}

/* `c` has been consumed. */
static Token operator(Lexer *lx, uint32_t c) {
    switch (c) {
    case ',': return TOKEN_COMMA;
    case ':': return TOKEN_COLON;
    case ';': return TOKEN_SEMI;
    case '~': return TOKEN_TILDE;
    case '.': return TOKEN_DOT;
    case '=': return skip_if(lx, '=') ? TOKEN_EQL : TOKEN_EQ;
    case '!': return skip_if(lx, '=') ? TOKEN_NEQ : TOKEN_ILLEGAL;
    case '+': return skip_if(lx, '=') ? TOKEN_PLUS_EQ : TOKEN_PLUS;
    case '-': return skip_if(lx, '=') ? TOKEN_MINUS_EQ : TOKEN_MINUS;
    case '%': return skip_if(lx, '=') ? TOKEN_PERCENT_EQ : TOKEN_PERCENT;
    case '&': return skip_if(lx, '=') ? TOKEN_AMP_EQ : TOKEN_AMP;
    case '|': return skip_if(lx, '=') ? TOKEN_PIPE_EQ : TOKEN_PIPE;
    case '^': return skip_if(lx, '=') ? TOKEN_CIRCUMFLEX_EQ : TOKEN_CIRCUMFLEX;
    case '*':
        if (skip_if(lx, '*')) return TOKEN_STARSTAR;
        return skip_if(lx, '=') ? TOKEN_STAR_EQ : TOKEN_STAR;
    case '/':
        if (skip_if(lx, '/')) return skip_if(lx, '=') ? TOKEN_SLASHSLASH_EQ : TOKEN_SLASHSLASH;
        return skip_if(lx, '=') ? TOKEN_SLASH_EQ : TOKEN_SLASH;
    case '<':
        if (skip_if(lx, '<')) return skip_if(lx, '=') ? TOKEN_LTLT_EQ : TOKEN_LTLT;
        return skip_if(lx, '=') ? TOKEN_LE : TOKEN_LT;
    case '>':
        if (skip_if(lx, '>')) return skip_if(lx, '=') ? TOKEN_GTGT_EQ : TOKEN_GTGT;
        return skip_if(lx, '=') ? TOKEN_GE : TOKEN_GT;
    default: return TOKEN_ILLEGAL;
    }
}

static bool scan_any(Lexer *lx, Lexeme *out, uint32_t c, Error *err) {
    give(lx, out, TOKEN_ILLEGAL);
    LiteralForm form;
    int prefix = c == '"' || c == '\'' || c == 'r' || c == 'b' ? string_prefix(lx, &form) : -1;
    if (prefix >= 0) return scan_string(lx, out, prefix, form, err);
    if (is_name_start(c)) return scan_name(lx, out, err);
    bool fraction = c == '.' && lx->end - lx->at >= 2 && is_digit((unsigned char)lx->at[1]);
    if (is_digit(c) || fraction) return scan_number(lx, out, err);
    if (c >= 0x80) return fail_character(lx, err, c);
    bool opens = c == '(' || c == '[' || c == '{', closes = c == ')' || c == ']' || c == '}';
    if (closes && lx->depth == 0) return source_error(lx->source, err, lx->pos, "unexpected '%c'", (char)c);
    skip_ascii(lx, 1);
    out->kind = opens || closes ? bracket(lx, c) : operator(lx, c);
    out->raw.n = (size_t)(lx->at - out->raw.at);
    if (out->kind != TOKEN_ILLEGAL) return true;
    lx->pos = out->pos;
    return fail_character(lx, err, c);
}

static bool scan_token(Lexer *lx, Lexeme *out, uint32_t c, Error *err) {
    if (scan_any(lx, out, c, err)) return true;
    return err && err->line == 0 && source_locate(lx->source, err, out->pos);   /* the heap has no position */
}

/* At the end, closes open blocks, after a NEWLINE if the last line has none. */
static bool scan_end(Lexer *lx, Lexeme *out, bool at_line_start) {
    if (lx->levels == 1) return give(lx, out, TOKEN_EOF);
    lx->line_start = true;
    if (!at_line_start) return give(lx, out, TOKEN_NEWLINE);
    lx->dents = 1 - (int32_t)lx->levels;
    lx->levels = 1;
    return give_dent(lx, out);
}

bool lexer_next(Lexer *lx, Lexeme *out, Error *err) {
    for (;;) {
        bool blank = false, at_line_start = lx->line_start;
        if (at_line_start) {
            lx->line_start = false;
            uint32_t col = skip_indentation(lx);
            blank = lx->at == lx->end || *lx->at == '#' || *lx->at == '\n' || *lx->at == '\r';
            if (!blank && lx->depth == 0 && !indent_to(lx, col, err)) return false;
        }
        if (lx->dents != 0) return give_dent(lx, out);
        while (peek_is(lx, ' ') || peek_is(lx, '\t')) skip_ascii(lx, 1);
        if (peek_is(lx, '#')) skip_comment(lx);
        uint32_t c = peek(lx);
        if (c == END_OF_TEXT) return scan_end(lx, out, at_line_start);
        if (c == '\\') {
            if (!skip_continuation(lx, err)) return false;
            continue;
        }
        if (c != '\n') return scan_token(lx, out, c, err);
        lx->line_start = true;
        bool counts = lx->depth == 0 && !blank;
        if (counts) give(lx, out, TOKEN_NEWLINE);
        skip_newline(lx);
        if (counts) return true;
    }
}
