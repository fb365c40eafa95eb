/* The first line is a pattern of `shell:`, its words separated by blanks; the rest is a command. Must not crash. A command that a
 * row with the pattern allows is matched by a row with the same pattern that denies; the verdict is the same twice. */
#include <stdlib.h>
#include "policy/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

static RulesVerdict judge(RuleDef *row, RuleVerdict decide, Str command, Arena *arena) {
    RuleRows rows = { row, 1, 1 };
    row->decide = decide;
    return rules_judge(&rows, &(RulesCall){ .tool = STR("bash"), .kind = CALL_SHELL, .command = command, .root = STR("/") }, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Arena arena = { 0 };
    Str rest = { (const char *)data, n }, line = { 0 }, words[16];
    if (!str_next_line(&rest, &line)) return 0;
    size_t n_words = 0;
    while (line.n && n_words < 16) {
        ptrdiff_t blank = str_find_char(line, ' ');
        Str word = str_sub(line, 0, blank < 0 ? line.n : (size_t)blank);
        line = str_sub(line, word.n + 1, line.n);
        if (word.n && word.n <= 256 && !memchr(word.at, 1, word.n)) words[n_words++] = word;
    }
    if (n_words) {
        RuleDef row = { .name = STR("r"), .kinds = CALL_KIND_BIT(CALL_SHELL), .shell = { words, n_words } };
        Str command = arena_str(&arena, rest);
        RulesVerdict deny = judge(&row, RULE_DENY, command, &arena), allow = judge(&row, RULE_ALLOW, command, &arena);
        require(judge(&row, RULE_DENY, command, &arena).verdict == deny.verdict);
        require(allow.verdict != RULE_ALLOW || deny.verdict == RULE_DENY);
        require(!deny.unknown || deny.verdict == RULE_DENY);
    }
    arena_clear(&arena);
    return 0;
}
