#include <string.h>
#include "cli/cli.h"
#include "cli/command_flags.h"
#include "cli/completion_names.h"

/* Appends the alternatives of "a|b|c", separated by blanks. */
static void add_choices(Buf *out, const char *choices) {
    for (; *choices; choices++) buf_add_char(out, *choices == '|' ? ' ' : *choices);
}

/* The distinct first words, or the second words after `group`. */
static void add_words(Buf *out, const char *group) {
    Str last = { 0 };
    size_t n = group ? strlen(group) : 0;
    for (size_t i = 0; i < command_count; i++) {
        const char *name = command_table[i].name;
        Str word = { name, strcspn(name, " ") };
        if (group) {
            if (strncmp(name, group, n) != 0 || name[n] != ' ') continue;
            word = str_from(name + n + 1);
        }
        if (str_eq(word, last)) continue;                /* the table is sorted, so equal words are adjacent */
        buf_add_fmt(out, "%s" STR_FMT, last.n ? " " : "", STR_ARG(word));
        last = word;
    }
}

static void add_flag_words(Buf *out, const Flag *list) {
    for (const Flag *f = list; f && f->name; f++) {
        buf_add_fmt(out, " %s", f->name);
        if (f->letter) buf_add_fmt(out, " %s", f->letter);
    }
}

/* Calls `each` once per group word. */
static void for_groups(Buf *out, void (*each)(Buf *out, const char *group)) {
    char last[64] = "";
    for (size_t i = 0; i < command_count; i++) {
        const char *name = command_table[i].name;
        size_t n = strcspn(name, " ");
        if (!name[n] || n >= sizeof last || (strlen(last) == n && memcmp(last, name, n) == 0)) continue;
        memcpy(last, name, n);
        last[n] = 0;
        each(out, last);
    }
}

/* bash and zsh */

static void add_sh_group(Buf *out, const char *group) {
    buf_add_fmt(out, "        %s) words=\"", group);
    add_words(out, group);
    buf_add(out, STR("\" ;;\n"));
}

static void add_sh_flag_values(Buf *out, const Flag *list) {
    for (const Flag *f = list; f && f->name; f++) {
        if (!f->value) continue;
        buf_add_fmt(out, "        %s%s%s) ", f->name, f->letter ? "|" : "", f->letter ? f->letter : "");
        if (f->choices) {
            buf_add(out, STR("COMPREPLY=($(compgen -W \""));
            add_choices(out, f->choices);
            buf_add(out, STR("\" -- \"$cur\")); return ;;\n"));
        } else if (completion_names_of_value(f->value)) {
            buf_add_fmt(out, "COMPREPLY=($(compgen -W \"$(_harness_names %s)\" -- \"$cur\")); return ;;\n", completion_names_of_value(f->value));
        } else {
            buf_add_fmt(out, "COMPREPLY=($(compgen -%s -- \"$cur\")); return ;;\n", strcmp(f->value, "DIR") == 0 ? "d" : "f");
        }
    }
}

/* "--flag) ((i++)) ;; ": the word after such a flag is not a command. */
static void add_sh_valued(Buf *out, const Flag *list) {
    for (const Flag *f = list; f && f->name; f++) {
        if (!f->value) continue;
        buf_add_fmt(out, "%s%s%s) ((i++)) ;;\n        ", f->name, f->letter ? "|" : "", f->letter ? f->letter : "");
    }
}

static void add_sh_command(Buf *out, const Command *c) {
    buf_add_fmt(out, "        \"%s\") flags=\"$flags", c->name);
    add_flag_words(out, c->flags);
    buf_add(out, STR("\" words=\""));
    const char *names = completion_names_of(c);
    if (c->choices) add_choices(out, c->choices);
    else if (names) buf_add_fmt(out, "$(_harness_names %s)", names);
    buf_add(out, names && !c->choices ? STR("\" named=1 ;;\n") : STR("\" ;;\n"));
}

static void add_bash(Buf *out) {
    buf_add(out, STR("# bash completion for harness\n"
                     "_harness_names() { \"${COMP_WORDS[0]:-harness}\" completion --list \"$1\" 2>/dev/null; }\n"
                     "_harness() {\n"
                     "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                     "    local name= words= named= flags=\""));
    add_flag_words(out, command_flags_global);
    buf_add(out, STR("\" i\n    COMPREPLY=()\n    case $prev in\n"));
    add_sh_flag_values(out, command_flags_global);
    for (size_t i = 0; i < command_count; i++) add_sh_flag_values(out, command_table[i].flags);
    buf_add(out, STR("    esac\n"
                     "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                     "        case ${COMP_WORDS[i]} in\n"
                     "        "));
    add_sh_valued(out, command_flags_global);
    for (size_t i = 0; i < command_count; i++) add_sh_valued(out, command_table[i].flags);
    buf_add(out, STR("--) break ;;\n"
                     "        -*) ;;\n"
                     "        *) name=\"${name:+$name }${COMP_WORDS[i]}\" ;;\n"
                     "        esac\n"
                     "    done\n"
                     "    case $name in\n"
                     "        \"\") words=\""));
    add_words(out, NULL);
    buf_add(out, STR("\" ;;\n"));
    for_groups(out, add_sh_group);
    for (size_t i = 0; i < command_count; i++) add_sh_command(out, &command_table[i]);
    buf_add(out, STR("    esac\n"
                     "    if [[ $cur == -* ]]; then\n"
                     "        COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
                     "    elif [[ $words || $named ]]; then\n"
                     "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                     "    else\n"
                     "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                     "    fi\n"
                     "}\n"
                     "complete -o filenames -F _harness harness\n"));
}

/* zsh runs the bash function through bashcompinit. */
static void add_zsh(Buf *out) {
    buf_add(out, STR("#compdef harness\n"
                     "autoload -Uz compinit bashcompinit\n"
                     "(( $+functions[compdef] )) || compinit\n"
                     "bashcompinit\n"));
    add_bash(out);
    /* If it is found in $fpath, the first Tab loads it as the function itself, which must complete too. */
    buf_add(out, STR("[[ ${funcstack[1]} == _harness ]] && _bash_complete -o filenames -F _harness\n"
                     "true\n"));
}

/* fish */

static void add_fish_text(Buf *out, const char *text) {
    buf_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') buf_add_char(out, '\\');
        buf_add_char(out, *text);
    }
    buf_add_char(out, '\'');
}

static void add_fish_flags(Buf *out, const Flag *list, const char *condition) {
    for (const Flag *f = list; f && f->name; f++) {
        buf_add_fmt(out, "complete -c harness %s -l %s", condition, f->name + 2);
        if (f->letter) buf_add_fmt(out, " -s %s", f->letter + 1);
        if (f->choices) { buf_add(out, STR(" -xa '")); add_choices(out, f->choices); buf_add(out, STR("'")); }
        else if (f->value && completion_names_of_value(f->value))
            buf_add_fmt(out, " -xa '(harness completion --list %s 2>/dev/null)'", completion_names_of_value(f->value));
        else if (f->value) buf_add(out, STR(" -r"));
        buf_add(out, STR(" -d "));
        add_fish_text(out, f->help);
        buf_add_char(out, '\n');
    }
}

/* "call" is a command, and the second word of "mcp call": the condition tells them apart. */
static void add_fish_names(Buf *out, const Command *c) {
    const char *space = strchr(c->name, ' ');
    buf_add(out, STR("complete -c harness -f -n '"));
    if (space) buf_add_fmt(out, "__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s", (int)(space - c->name), c->name, space + 1);
    else buf_add_fmt(out, "__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from mcp trust schema", c->name);
    buf_add_fmt(out, "' -a '(harness completion --list %s 2>/dev/null)'\n", completion_names_of(c));
}

static void add_fish_command(Buf *out, const Command *c) {
    const char *space = strchr(c->name, ' ');
    int n = space ? (int)(space - c->name) : (int)strlen(c->name);
    if (space)
        buf_add_fmt(out, "complete -c harness -f -n '__fish_seen_subcommand_from %.*s; and not "
                    "__fish_seen_subcommand_from %s' -a %s -d ", n, c->name, space + 1, space + 1);
    else
        buf_add_fmt(out, "complete -c harness -f -n __fish_use_subcommand -a %s -d ", c->name);
    add_fish_text(out, c->summary);
    buf_add_char(out, '\n');
    Buf condition = { 0 };
    buf_add_fmt(&condition, "-n '__fish_seen_subcommand_from %s'", space ? space + 1 : c->name);
    if (c->choices) {
        buf_add_fmt(out, "complete -c harness -f %s -a '", condition.at);
        add_choices(out, c->choices);
        buf_add(out, STR("'\n"));
    }
    add_fish_flags(out, c->flags, condition.at);
    if (completion_names_of(c) && !c->choices) add_fish_names(out, c);
    buf_clear(&condition);
}

static void add_fish_group(Buf *out, const char *group) {
    buf_add_fmt(out, "complete -c harness -f -n __fish_use_subcommand -a %s\n", group);
}

static void add_fish(Buf *out) {
    buf_add(out, STR("# fish completion for harness\n"));
    add_fish_flags(out, command_flags_global, "");
    for_groups(out, add_fish_group);
    for (size_t i = 0; i < command_count; i++) add_fish_command(out, &command_table[i]);
}

int command_completion(Cli *cli) {
    const char *list = args_value(&cli->args, "--list");
    if (list) return completion_names_print(cli, list);
    if (cli->args.n_operands == 0) {
        Error err = { 0 };
        error_set(&err, ERR_VALIDATION, "completion: missing bash|zsh|fish");
        error_hint(&err, "see harness completion --help");
        return cli_fail(cli, CLI_WRONG_USE, &err);
    }
    const char *shell = cli->args.operands[0];
    if (strcmp(shell, "bash") == 0) add_bash(&cli->out);
    else if (strcmp(shell, "zsh") == 0) add_zsh(&cli->out);
    else add_fish(&cli->out);
    return CLI_OK;
}
