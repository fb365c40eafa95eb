#include "cli/args.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/str.h"
#include "cli/command_flags.h"

enum { CANDIDATES_MAX = 64, NAME_MAX_TEXT = 64 };

/* Adds the hint `did you mean "X"?` if a candidate is close. */
static bool suggest(Error *err, const char *word, const Str *candidates, size_t n) {
    Str near = str_nearest(str_from(word), candidates, n);
    if (near.n) error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near));
    return false;
}

static bool unknown_command(const Args *a, const char *word, Error *err) {
    Str names[CANDIDATES_MAX];
    size_t n = 0, group = a->group ? strlen(a->group) : 0;
    for (size_t i = 0; i < command_count && n < CANDIDATES_MAX; i++) {
        const char *name = command_table[i].name;
        if (!group)
            names[n++] = (Str){ name, strcspn(name, " ") };
        else if (strncmp(name, a->group, group) == 0 && name[group] == ' ')
            names[n++] = str_from(name + group + 1);
    }
    if (group)
        error_set(err, ERR_VALIDATION, "%s: unknown subcommand \"%s\"", a->group, word);
    else
        error_set(err, ERR_VALIDATION, "unknown command \"%s\"", word);
    return suggest(err, word, names, n);
}

static bool unknown_flag(const Args *a, const char *word, Error *err) {
    Str names[CANDIDATES_MAX];
    size_t n = 0;
    const Flag *lists[] = { a->command ? a->command->flags : NULL, command_flags_global };
    for (size_t l = 0; l < 2; l++)
        for (const Flag *f = lists[l]; f && f->name && n < CANDIDATES_MAX; f++) names[n++] = str_from(f->name);
    Str name = { word, strcspn(word, "=") };
    error_set(err, ERR_VALIDATION, "unknown flag \"" STR_FMT "\"", STR_ARG(name));
    if (a->command) error_wrap(err, "%s", a->command->name);
    if (a->command && strstr(a->command->operands, "CMD...") && a->n_operands > 0) return error_hint(err, "write -- before the program and its arguments");
    Str near = str_nearest(name, names, n);
    if (near.n) return error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near));
    return error_hint(err, "see harness %s%s--help", a->command ? a->command->name : "", a->command ? " " : "");
}

/* A word that is not a flag: part of the command's name, or an operand. */
static bool take_word(Args *a, const char *word, Error *err) {
    if (a->command) return a->operands[a->n_operands++] = word, true;
    if (!a->group) {
        if (command_is_group(word)) return a->group = word, true;
        a->command = command_find(word);
        return a->command || unknown_command(a, word, err);
    }
    char name[NAME_MAX_TEXT];
    snprintf(name, sizeof name, "%s %s", a->group, word);
    a->command = command_find(name);
    if (a->command) return true;
    a->command = command_find(a->group);                 /* a group such as "runs" is also a command; then the word is its operand */
    if (!a->command) return unknown_command(a, word, err);
    return a->operands[a->n_operands++] = word, true;
}

static bool is_choice(const char *choices, const char *value) {
    size_t n = strlen(value);
    for (const char *at = choices; *at; at += strspn(at, "|")) {
        size_t length = strcspn(at, "|");
        if (length == n && memcmp(at, value, n) == 0) return true;
        at += length;
    }
    return false;
}

static bool check_choice(const char *what, const char *choices, const char *value, Error *err) {
    if (!choices || is_choice(choices, value)) return true;
    Str known[CANDIDATES_MAX];
    size_t n = 0;
    for (const char *at = choices; *at && n < CANDIDATES_MAX; at += strspn(at, "|")) {
        known[n++] = (Str){ at, strcspn(at, "|") };
        at += known[n - 1].n;
    }
    error_set(err, ERR_VALIDATION, "%s: \"%s\" is not one of %s", what, value, choices);
    return suggest(err, value, known, n);
}

/* "trust" is a group and a command: a flag of the command selects the command. */
static const Flag *take_group_flag(Args *a, const char *word, size_t n) {
    const Command *own = a->command || !a->group ? NULL : command_find(a->group);
    const Flag *flag = own ? command_flag(own->flags, word, n) : NULL;
    if (flag) a->command = own;
    return flag;
}

/* A word that starts with '-'. `next` is the following word or NULL; *used: it was the value. */
static bool take_flag(Args *a, const char *word, const char *next, bool *used, Error *err) {
    bool is_long = word[1] == '-';
    if (!a->command && !a->group && (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)) return (a->command = command_find("version")) != NULL;
    size_t n = is_long ? strcspn(word, "=") : 2;
    const Flag *flag = command_flag(a->command ? a->command->flags : NULL, word, n);
    if (!flag) flag = command_flag(command_flags_global, word, n);
    if (!flag) flag = take_group_flag(a, word, n);
    if (!flag) return unknown_flag(a, word, err);

    const char *value = NULL;
    if (word[n]) value = word + n + (is_long ? 1 : 0);   /* "--flag=value" or "-Cdir" */
    if (!flag->value && value) {
        if (!is_long) return unknown_flag(a, word, err);
        return error_set(err, ERR_VALIDATION, "%s takes no value", flag->name);
    }
    if (flag->value && !value) {
        if (!next) return error_set(err, ERR_VALIDATION, "%.*s needs a value: %s", (int)n, word, flag->value);
        value = next;
        *used = true;
    }
    if (value && !check_choice(flag->name, flag->choices, value, err)) return false;
    a->flags[a->n_flags++] = (ArgsFlag){ flag, value };
    return true;
}

bool args_parse(int argc, char **argv, Args *out, Error *err) {
    size_t room = argc > 0 ? (size_t)argc : 1;
    *out = (Args){ .flags = mem_zero(room, sizeof *out->flags), .operands = mem_zero(room, sizeof *out->operands) };
    bool only_words = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        bool used = false;
        if (only_words || word[0] != '-' || word[1] == 0) {     /* "-" alone is standard input */
            if (!take_word(out, word, err)) return false;
        } else if (strcmp(word, "--") == 0) {
            only_words = true;
        } else if (!take_flag(out, word, i + 1 < argc ? argv[i + 1] : NULL, &used, err)) {
            return false;
        }
        if (used) i++;
    }
    if (!out->command && out->group) out->command = command_find(out->group);
    return true;
}

bool args_check(const Args *a, Error *err) {
    const Command *c = a->command;
    if ((int)a->n_operands < c->min)
        return error_set(err, ERR_VALIDATION, "%s: missing %s", c->name, c->operands)
            || error_hint(err, "see harness %s --help", c->name);
    if ((int)a->n_operands > c->max)
        return error_set(err, ERR_VALIDATION, "%s: unexpected \"%s\"", c->name, a->operands[c->max])
            || error_hint(err, "see harness %s --help", c->name);
    return a->n_operands == 0 || check_choice(c->name, c->choices, a->operands[0], err);
}

void args_clear(Args *a) {
    free(a->flags);
    free(a->operands);
    *a = (Args){ 0 };
}

bool args_has(const Args *a, const char *name) {
    for (size_t i = 0; i < a->n_flags; i++)
        if (strcmp(a->flags[i].flag->name, name) == 0) return true;
    return false;
}

const char *args_value(const Args *a, const char *name) {
    for (size_t i = a->n_flags; i-- > 0;)
        if (strcmp(a->flags[i].flag->name, name) == 0) return a->flags[i].value;
    return NULL;
}
