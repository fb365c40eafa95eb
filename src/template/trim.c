/* Handlebars' white-space rules. `~` removes all white space on its side. A block tag, {{else}} or comment that is
 * alone on its line removes the line. Whether it is alone depends on the original texts; the removal applies to what is
 * left of them. The order is visible in the result, so it is the same as in Handlebars. */
#include "base/utf8.h"
#include "template/ast.h"

static bool is_space(uint32_t c) {
    return (c >= 9 && c <= 13) || c == ' ' || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff;
}

size_t ast_space(Str s) {
    size_t length;
    return s.n && is_space(utf8_decode(s, &length)) ? length : 0;
}

/* The same at the end of s. */
static size_t space_back(Str s) {
    size_t start = s.n, length;
    if (s.n == 0) return 0;
    do start--;
    while (start > 0 && s.n - start < 3 && ((unsigned char)s.at[start] & 0xc0) == 0x80);
    Str last = str_sub(s, start, s.n);
    return is_space(utf8_decode(last, &length)) && length == last.n ? length : 0;
}

static Str skip_space(Str s) {
    for (size_t n; (n = ast_space(s)) > 0;) s = str_sub(s, n, s.n);
    return s;
}

static Str skip_space_back(Str s) {
    for (size_t n; (n = space_back(s)) > 0;) s.n -= n;
    return s;
}

static bool has_newline(Str s) { return str_find_char(s, '\n') >= 0; }

/* True if a line ends between the text before body[i] and its tag. i == n refers to the end of the body. */
static bool line_before(const AstBody *b, size_t i, bool root) {
    if (i == 0) return root;
    const AstNode *prev = &b->node[i - 1];
    if (prev->kind != AST_TEXT) return false;
    Str head = skip_space_back(prev->original), tail = str_sub(prev->original, head.n, prev->original.n);
    return has_newline(tail) || (head.n == 0 && root && i == 1);
}

/* True if the line ends directly after the tag. `next` is the index of the node after it. */
static bool line_after(const AstBody *b, size_t next, bool root) {
    if (next >= b->n) return root;
    const AstNode *node = &b->node[next];
    if (node->kind != AST_TEXT) return false;
    Str rest = skip_space(node->original), head = str_sub(node->original, 0, node->original.n - rest.n);
    return has_newline(head) || (rest.n == 0 && root && next + 1 == b->n);
}

/* Removes white space from the start of body[i]: all of it, or the rest of the line. */
static void take_start(AstBody *b, size_t i, bool all) {
    if (i >= b->n || b->node[i].kind != AST_TEXT) return;
    AstNode *node = &b->node[i];
    if (!all && node->right_stripped) return;
    Str s = node->text;
    if (all) s = skip_space(s);
    else {
        while (s.n && (s.at[0] == ' ' || s.at[0] == '\t')) s = str_sub(s, 1, s.n);
        if (str_starts(s, STR("\r\n"))) s = str_sub(s, 2, s.n);
        else if (s.n && (s.at[0] == '\n' || s.at[0] == '\r')) s = str_sub(s, 1, s.n);
    }
    node->right_stripped = s.n != node->text.n;
    node->text = s;
}

/* Removes white space from the end of body[i - 1]: all of it, or the start of the line. */
static void take_end(AstBody *b, size_t i, bool all) {
    if (i == 0 || b->node[i - 1].kind != AST_TEXT) return;
    AstNode *node = &b->node[i - 1];
    if (!all && node->left_stripped) return;
    Str s = node->text;
    if (all) s = skip_space_back(s);
    else while (s.n && (s.at[s.n - 1] == ' ' || s.at[s.n - 1] == '\t')) s.n--;
    node->left_stripped = s.n != node->text.n;
    node->text = s;
}

typedef struct { bool open, close, open_alone, close_alone, inline_alone; } Strip;

static void trim_body(AstBody *b, bool root);

/* Trims inside the block; returns how to trim around it. */
static Strip trim_block(AstNode *block) {
    AstBody *main = block->main, *other = block->other;
    trim_body(main, false);
    if (other) trim_body(other, false);
    AstBody *inner = other && block->chained ? other->node[0].main : other;
    AstBody *last = inner ? inner : main;
    Strip strip = { .open = block->strip.open, .close = block->end.close, .open_alone = line_after(main, 0, false),
                    .close_alone = line_before(last, last->n, false) };
    if (block->strip.close) take_start(main, 0, true);
    if (inner) {
        if (block->middle.open) take_end(main, main->n, true);
        if (block->middle.close) take_start(inner, 0, true);
        if (block->end.open) take_end(inner, inner->n, true);
        if (line_before(main, main->n, false) && line_after(inner, 0, false)) {
            take_end(main, main->n, false);
            take_start(inner, 0, false);
        }
    } else if (block->end.open) take_end(main, main->n, true);
    return strip;
}

static bool find_strip(AstNode *node, Strip *out) {
    if (node->kind == AST_TEXT) return false;
    *out = (Strip){ .open = node->strip.open, .close = node->strip.close, .inline_alone = node->kind == AST_COMMENT };
    if (node->main) *out = trim_block(node);
    return true;
}

static void trim_body(AstBody *b, bool root) {
    for (size_t i = 0; i < b->n; i++) {
        AstNode *node = &b->node[i];
        Strip strip;
        if (!find_strip(node, &strip)) continue;
        bool before = line_before(b, i, root), after = line_after(b, i + 1, root);
        if (strip.close) take_start(b, i + 1, true);
        if (strip.open) take_end(b, i, true);
        if (strip.inline_alone && before && after) {
            take_start(b, i + 1, false);
            take_end(b, i, false);
        }
        if (strip.open_alone && before) {
            take_start(node->main, 0, false);
            take_end(b, i, false);
        }
        if (strip.close_alone && after) {
            AstBody *end = node->other ? node->other : node->main;
            take_start(b, i + 1, false);
            take_end(end, end->n, false);
        }
    }
}

void ast_trim(AstBody *root) { trim_body(root, true); }
