/* How programs interpret the words of a command: which words are code, which name another program. */
#include "template/shell_scan.h"

typedef enum { ALL, VARIABLES, SHELL, SCRIPT, PROGRAM, WRAPPER, REMOTE, OPTIONS, DECLARE, FIND, PRINTF, TEST, SUBCOMMAND, MAKE, TARGET, TARGETS } Kind;
struct ShellProgram { const char *name; Kind kind; uint8_t operands; const char *values, *code; };

/* The kinds of shell/wrappers.def, converted to those of programs.def. */
enum {
    KIND_WRAPPER = WRAPPER, KIND_XARGS = WRAPPER, KIND_SHELL = SHELL, KIND_JOIN = REMOTE, KIND_TEXT = OPTIONS, KIND_STDIN = OPTIONS,
    KIND_TEXT_OR_COMMAND = TARGETS, KIND_PARALLEL = ALL, KIND_FIND = FIND, KIND_SUBCOMMAND = SUBCOMMAND,
};

static const ShellProgram programs[] = {
#define W(name, kind, operands, values, text, code) { name, (Kind)KIND_##kind, operands, values, text " " code },
#include "shell/wrappers.def"
#undef W
#define P(name, kind, operands, values, code) { name, kind, operands, values, code },
#include "template/programs.def"
#undef P
};
enum { N_PROGRAMS = sizeof programs / sizeof *programs };

/* Role of the next word. FREE: an ordinary argument. */
enum { STAGE_FREE, STAGE_OPTIONS, STAGE_VALUE, STAGE_CODE, STAGE_ALL_CODE };

static const ShellProgram *find_row(Str name) {
    for (size_t i = 0; i < N_PROGRAMS; i++)
        if (str_eq(name, str_from(programs[i].name))) return &programs[i];
    return NULL;
}

/* ld-linux-x86-64.so.2, ld-musl-x86_64.so.1, ld64.so.2: each runs the program given as its argument. */
static bool is_loader(Str name) {
    return str_starts(name, STR("ld")) && str_find(name, STR(".so")) > 0;
}

static const ShellProgram *find_program(Str name) {
    for (size_t i = name.n; i-- > 0;)
        if (name.at[i] == '/') { name = str_sub(name, i + 1, name.n); break; }
    if (str_find_char(name, ' ') >= 0) return NULL;            /* the row of a subcommand is not a program */
    const ShellProgram *row = find_row(is_loader(name) ? STR("ld.so") : name);
    if (row) return row;
    /* python3.11, perl5.36, lua5.4, node22: the name before the version */
    size_t n = name.n;
    while (n > 0 && ((name.at[n - 1] >= '0' && name.at[n - 1] <= '9') || name.at[n - 1] == '.' || name.at[n - 1] == '-')) n--;
    return n > 0 && n < name.n ? find_program(str_sub(name, 0, n)) : NULL;
}

/* The row of "git fetch", else of "git *"; NULL if the subcommand has no rules. */
static const ShellProgram *find_subcommand(const ShellProgram *p, const ShellWord *w) {
    char name[SHELL_WORD_MAX * 2];
    const ShellProgram *row = NULL;
    size_t n = strlen(p->name);
    if (n > SHELL_WORD_MAX) return NULL;
    memcpy(name, p->name, n);
    name[n++] = ' ';
    if (!w->dynamic) {
        memcpy(name + n, w->text, w->n);
        row = find_row((Str){ name, n + w->n });
    }
    name[n] = '*';
    return row ? row : find_row((Str){ name, n + 1 });
}

const char *shell_scan_program_name(const ShellState *s) {
    if (!s->command.program) return "";
    return s->command.program->name[0] == '$' ? "a program that is not known" : s->command.program->name;
}

bool shell_scan_variable_is_safe(Str name) {
    static const char *const whole[] = {
        "PATH", "IFS", "ENV", "BASH_ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "PS1", "PS2", "PS4", "CDPATH", "GLOBIGNORE", "HOME",
        "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "NODE_OPTIONS", "NODE_PATH", "PERL5OPT", "PERL5LIB", "PERL5DB", "RUBYOPT",
        "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "MAKEFLAGS", "TAR_OPTIONS", "LESSOPEN", "LESSCLOSE", "FPATH", "TERMINFO",
        "OPTIND", "RANDOM", "SECONDS", "HISTFILE", "INPUTRC", "EXECIGNORE", "ZDOTDIR", "FCEDIT", "RSYNC_RSH", "SSH_ASKPASS", "SUDO_ASKPASS",
        "PHPRC", "PHP_INI_SCAN_DIR", "GCONV_PATH", "CLASSPATH", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "HGRCPATH", "KUBECONFIG", "AWKPATH",
        "AWKLIBPATH", "MANOPT", "MANROFFOPT", "SYSTEMD_PAGER", "SYSTEMD_EDITOR", "TEXINPUTS", "TERMCAP", "R_PROFILE", "R_ENVIRON", "CC",
            "CXX", "CPP", "LD", "AR",
        "AS", "FC", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "GOFLAGS", "GOROOT", "GOENV", "GOTOOLCHAIN", "GOCACHEPROG",
    };
    static const char *const starts[] = { "LD_", "DYLD_", "BASH_", "GIT_", "PYTHON", "npm_config_", "NPM_CONFIG_", "CARGO", "RUST", "PIP_",
                                          "ANSIBLE_", "DOCKER_", "LUA_INIT", "LESS", "PSQL", "OPENSSL_", "DOTNET_", "CORECLR_", "ERL_" };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (str_eq(name, str_from(whole[i]))) return false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (str_starts(name, str_from(starts[i]))) return false;
    return !str_ends(name, STR("_COMMAND"));
}

bool template_variable_is_safe(Str name) { return shell_scan_variable_is_safe(name); }

/* ---- options ---- */

static bool listed(const char *list, Str word) {
    Str rest = str_from(list);
    while (rest.n) {
        ptrdiff_t blank = str_find_char(rest, ' ');
        Str one = str_sub(rest, 0, blank < 0 ? rest.n : (size_t)blank);
        if (str_eq(one, word)) return true;
        rest = str_sub(rest, one.n + 1, rest.n);
    }
    return false;
}

typedef enum { FOUND_NONE, FOUND_VALUE, FOUND_CODE, FOUND_SHELL_CODE } Found;

/* True if the letter is in the list. `attached`: marked with *, so that it never takes the next word. */
static bool listed_letter(const char *list, char letter, bool *attached) {
    *attached = listed(list, (Str){ (const char[]){ letter, '*' }, 2 });
    return *attached || listed(list, (Str){ &letter, 1 });
}

/* A shell's options are flags, in any order: -lc, -co pipefail. */
static Found read_shell_option(Str word) {
    if (str_find_char(word, 'c') > 0) return FOUND_SHELL_CODE;
    return str_find_char(word, 'o') > 0 || str_find_char(word, 'O') > 0 ? FOUND_VALUE : FOUND_NONE;
}

/* True if the argument begins with a word of the list that is marked with ~. */
static bool listed_start(const char *list, Str argument) {
    Str rest = str_from(list);
    while (rest.n) {
        ptrdiff_t blank = str_find_char(rest, ' ');
        Str one = str_sub(rest, 0, blank < 0 ? rest.n : (size_t)blank);
        if (one.n > 1 && one.at[one.n - 1] == '~' && str_starts(argument, str_sub(one, 0, one.n - 1))) return true;
        rest = str_sub(rest, one.n + 1, rest.n);
    }
    return false;
}

/* Most programs accept --to-com for --to-command. */
static bool listed_abbreviation(const char *list, Str name) {
    Str rest = str_from(list);
    if (name.n < 3 || !str_starts(name, STR("--"))) return false;
    while (rest.n) {
        ptrdiff_t blank = str_find_char(rest, ' ');
        Str one = str_sub(rest, 0, blank < 0 ? rest.n : (size_t)blank);
        if (str_starts(one, name)) return true;
        rest = str_sub(rest, one.n + 1, rest.n);
    }
    return false;
}

/* The meaning of an option word. `inside`: its value is in the same word, or it has none. `maybe`: it may be a flag of
 * its own instead of an abbreviation of the option found. */
static Found read_option(const ShellProgram *p, Str word, bool *inside, bool *maybe) {
    ptrdiff_t equals = str_find_char(word, '=');
    Str name = equals < 0 ? word : str_sub(word, 0, (size_t)equals);
    *inside = equals >= 0;
    *maybe = false;
    if (listed(p->code, name)) return FOUND_CODE;
    if (listed_start(p->code, word)) return *inside = true, FOUND_CODE;
    if (listed(p->values, name)) return FOUND_VALUE;
    if (listed_abbreviation(p->code, name)) return *maybe = equals < 0, FOUND_CODE;
    *inside = false;
    if (str_starts(word, STR("--"))) return FOUND_NONE;
    if (p->kind == SHELL) return read_shell_option(word);
    for (size_t i = 1; i < word.n; i++) {
        bool attached;
        if (listed_letter(p->code, word.at[i], &attached)) return *inside = attached || i + 1 < word.n, FOUND_CODE;
        if (listed_letter(p->values, word.at[i], &attached)) return *inside = attached || i + 1 < word.n, FOUND_VALUE;
    }
    return FOUND_NONE;
}

/* ---- complete words ---- */

static bool is_expansion(const ShellWord *w) { return w->dynamic && !w->param; }
static bool takes_input_as_arguments(const ShellProgram *p) { return p && (strcmp(p->name, "xargs") == 0 || strcmp(p->name, "parallel") == 0); }

void shell_scan_program_start(ShellState *s, const ShellWord *w) {
    bool in_find = s->command.in_find, by_input = s->command.by_input;
    Str name = { w->text, w->n };
    const ShellProgram *wrapper = s->command.place == SHELL_AT_INNER ? s->command.program : NULL;
    if (wrapper && w->equals && str_find_char(name, '=') > 0) return;  /* env NAME=value */
    if (wrapper && w->n > 1 && w->text[0] == '-' && !s->command.dashdash) {   /* flock FILE -c CODE */
        s->command.place = SHELL_AT_ARGS;
        shell_scan_program_word(s, w);
        return;
    }
    const ShellProgram *any = &programs[N_PROGRAMS - 1];
    if (name.n && name.at[0] == '-') s->unsure = true;                 /* in dash, time -o FILE COMMAND runs another program */
    if (s->assigned && is_expansion(w) && w->n == 0) s->flows = true;  /* $x: the variable may hold a parameter's value */
    if (w->expands && !w->quoted && w->n == 0) {                       /* $SUDO cmd: if empty, the next word is the program */
        s->command = (ShellCommand){ .place = SHELL_AT_INNER, .program = any, .stage = STAGE_OPTIONS, .in_find = in_find, .by_input = by_input };
        return;
    }
    const ShellProgram *p = w->dynamic ? any : find_program(name);
    s->command = (ShellCommand){ .place = SHELL_AT_ARGS, .program = p, .stage = p ? STAGE_OPTIONS : STAGE_FREE,
                                 .operands = p ? p->operands : 0, .in_find = in_find, .no_args = true,
                                 .by_input = by_input || takes_input_as_arguments(p) };
    s->command.keeps = str_eq(name, STR("set"));
    if (p && p->kind == VARIABLES && s->piped) s->assigned = true;     /* … | read x */
    if (str_eq(name, STR("alias")) || str_eq(name, STR("shopt")) || str_eq(name, STR("enable"))) s->unsure = true;
}

/* A shell or interpreter among the arguments of any program: that program may run it. */
static void guess(ShellState *s, const ShellWord *w) {
    const ShellProgram *p = w->dynamic ? NULL : find_program((Str){ w->text, w->n });
    if (!p || (p->kind != SHELL && p->kind != SCRIPT && p->kind != ALL) || (p->kind == ALL && strcmp(p->name, "eval") != 0)) return;
    s->command.program = p;
    s->command.stage = STAGE_OPTIONS;
    s->command.guess = true;
    s->command.code_next = false;
}

/* perl -n and ruby -p open their file arguments in a way that runs "command |". */
static bool opens_files(const ShellProgram *p) { return strcmp(p->name, "perl") == 0 || strcmp(p->name, "ruby") == 0; }
static bool is_python(const ShellProgram *p) { return p->name[0] == 'p' && p->name[1] == 'y'; }

static void finished_option(ShellState *s, Str text, const ShellWord *w) {
    ShellCommand *c = &s->command;
    bool inside, maybe;
    switch (read_option(c->program, text, &inside, &maybe)) {
    case FOUND_NONE: break;
    case FOUND_VALUE: if (!inside && !w->dynamic) c->stage = STAGE_VALUE; break;
    case FOUND_CODE:
        c->has_code = true;
        if (s->assigned && is_expansion(w)) s->flows = true;
        if (c->program->kind == PROGRAM) c->operands = 1;  /* the first operand is a file then */
        if (!inside && !w->dynamic) c->stage = STAGE_CODE, c->maybe_code = maybe;
        break;
    case FOUND_SHELL_CODE:
        c->code_next = c->has_code = true;
        if (str_find_char(text, 'o') > 0 || str_find_char(text, 'O') > 0) c->stage = STAGE_VALUE;
        break;
    }
    if (opens_files(c->program) && text.at[1] != '-' && (str_find_char(text, 'n') > 0 || str_find_char(text, 'p') > 0)) c->magic = true;
}

static bool is_sed(const ShellProgram *p) { return strcmp(p->name, "sed") == 0 || strcmp(p->name, "gsed") == 0; }

static void finished_operand(ShellState *s, const ShellWord *w) {
    ShellCommand *c = &s->command;
    switch (c->program->kind) {
    case WRAPPER:
        if (c->operands == 0) { c->place = SHELL_AT_INNER, shell_scan_program_start(s, w); break; }
        c->stage = STAGE_OPTIONS;
        if (--c->operands == 0) c->place = SHELL_AT_INNER;
        break;
    case REMOTE:
        if (c->operands > 0) c->operands--;
        if (c->operands == 0) c->stage = STAGE_ALL_CODE;
        break;
    case SUBCOMMAND:
        c->program = find_subcommand(c->program, w);
        c->stage = c->program ? STAGE_OPTIONS : STAGE_FREE;
        c->operands = c->program ? c->program->operands : 0;
        break;
    case TARGET: c->operands = 1; break;                   /* options may still follow */
    case PROGRAM:
        c->operands = 1;
        if (!is_sed(c->program)) c->stage = STAGE_FREE;    /* sed accepts options after operands */
        break;
    case SHELL: case SCRIPT: case PRINTF: c->stage = STAGE_FREE; break;
    default: break;
    }
}

/* For the arguments of a guessed interpreter: a word that may be absent does not advance the stage. */
static bool may_be_absent(const ShellCommand *c, const ShellWord *w) { return c->guess && w->only; }

static void finished_find(ShellState *s, Str text) {
    static const char *const starts[] = { "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch" };      /* the last four: fd */
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (str_eq(text, str_from(starts[i])))
            s->command = (ShellCommand){ .place = SHELL_AT_INNER, .in_find = true };
    static const char *const writes[] = { "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from" };
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        if (str_eq(text, str_from(writes[i]))) s->command.stage = STAGE_CODE;
}

static void finished_declaration(ShellState *s, Str text) {
    if (text.n > 1 && (text.at[0] == '-' || text.at[0] == '+') && (str_find_char(text, 'i') > 0 || str_find_char(text, 'n') > 0))
        s->integer = true;
}

/* True if an operand here would be code. */
static bool expects_code(const ShellCommand *c) {
    if (c->stage == STAGE_CODE || c->stage == STAGE_ALL_CODE || c->code_next) return true;
    return c->stage == STAGE_OPTIONS && (c->program->kind == ALL || (c->program->kind == PROGRAM && c->operands == 0));
}

/* True for a name of standard input where a program expects a file of code. */
static bool is_stdin(const ShellWord *w) {
    Str text = { w->text, w->n };
    return !w->dynamic && (str_eq(text, STR("-")) || str_eq(text, STR("/dev/stdin")) || str_eq(text, STR("/dev/fd/0")) || str_eq(text, STR("/proc/self/fd/0")));
}

void shell_scan_program_end(ShellState *s) {
    const ShellCommand *c = &s->command;
    const ShellProgram *p = c->program;
    if (!s->piped) return;
    if (c->by_input && (c->place == SHELL_AT_INNER || !c->dashdash || p)) s->flows = true;
    if (!p || c->has_code) return;
    bool reads = listed(p->code, STR("<")) || c->from_input || ((p->kind == SHELL || p->kind == SCRIPT) && c->stage == STAGE_OPTIONS);
    if (reads) s->flows = true;
}

void shell_scan_program_word(ShellState *s, const ShellWord *w) {
    ShellCommand *c = &s->command;
    Str text = { w->text, w->n };
    if (c->program && s->assigned && is_expansion(w) && expects_code(c)) s->flows = true;
    if (c->in_find && !w->dynamic && (str_eq(text, STR(";")) || str_eq(text, STR("+")))) {
        s->command = (ShellCommand){ .place = SHELL_AT_ARGS, .program = find_program(STR("find")), .stage = STAGE_OPTIONS };
        return;
    }
    bool options_over = c->dashdash;
    if (!w->dynamic && str_eq(text, STR("--"))) c->dashdash = true;
    if (!c->program || c->stage == STAGE_FREE) { guess(s, w); return; }
    if (c->stage == STAGE_ALL_CODE) return;
    if (c->stage == STAGE_CODE && c->maybe_code && text.n && text.at[0] == '-') c->stage = STAGE_OPTIONS;   /* it was a flag */
    if (c->stage == STAGE_VALUE || c->stage == STAGE_CODE) {
        bool last = c->stage == STAGE_CODE && is_python(c->program);    /* the remaining words are arguments of the code */
        if (c->stage == STAGE_CODE && s->piped && is_stdin(w)) s->flows = true;
        c->stage = last ? STAGE_FREE : STAGE_OPTIONS;
        return;
    }
    if (c->program->kind == FIND) { finished_find(s, text); return; }
    if (c->program->kind == DECLARE) finished_declaration(s, text);
    if (c->program->kind == TEST) { if (str_eq(text, STR("-v")) || str_eq(text, STR("-R"))) c->stage = STAGE_CODE; return; }
    if (c->program->kind == DECLARE || c->program->kind <= VARIABLES) return;
    /* An unquoted expansion may become any number of words, including options. */
    if (w->expands && w->n == 0) { if (c->program->kind != OPTIONS && c->program->kind != MAKE) s->unsure = true; return; }
    if ((c->program->kind == SHELL || c->program->kind == SCRIPT) && !c->has_code && is_stdin(w)) c->from_input = true;
    if (c->program->kind == SHELL && !options_over && text.n > 1 && text.at[0] == '-' && text.at[1] != '-'
        && str_find_char(text, 's') > 0) c->from_input = true;
    if (text.n > 0 && (text.at[0] == '-' || (text.at[0] == '+' && c->program->kind == SHELL)) && !options_over) {
        if (!str_eq(text, STR("--"))) finished_option(s, text, w);
        if (str_eq(text, STR("-")) && c->program->kind != OPTIONS && c->program->kind != WRAPPER) finished_operand(s, w);
        return;
    }
    if (c->code_next) { c->code_next = false, c->stage = STAGE_FREE; return; }
    if (!may_be_absent(c, w)) finished_operand(s, w);
}

/* ---- parameters ---- */

/* A parameter inside a word that begins with an option. */
static ShellRefusal value_in_option(const ShellProgram *p, Str text) {
    bool inside, maybe;
    bool is_long = str_starts(text, STR("--")) || str_find_char(text, '=') > 0;
    Found found = read_option(p, text, &inside, &maybe);
    if (found == FOUND_CODE) return SHELL_CODE;
    if (found == FOUND_VALUE) return SHELL_OK;
    if (found == FOUND_SHELL_CODE) return SHELL_OPTION;
    return is_long && str_find_char(text, '=') > 0 ? SHELL_OK : SHELL_OPTION;
}

static ShellRefusal value_of_wrapper(ShellState *s, const ShellWord *w, bool constrained) {
    Str name;
    if (s->command.place == SHELL_AT_ARGS && s->command.operands > 0)
        return listed(s->command.program->code, STR("!")) && !constrained ? SHELL_TARGET : SHELL_OK;
    if (!shell_scan_assignment(w, &name)) return SHELL_COMMAND;
    return shell_scan_variable_is_safe(name) ? SHELL_OK : SHELL_ASSIGNMENT;
}

static ShellRefusal value_as_operand(ShellState *s, const ShellWord *w, bool constrained) {
    const ShellCommand *c = &s->command;
    Str name;
    switch (c->program->kind) {
    case SHELL:
        if (c->code_next) return SHELL_CODE;
        return w->n == 0 && !w->dynamic && !c->guess ? SHELL_SCRIPT : SHELL_OK;
    case SCRIPT:
        if (c->magic) return SHELL_CODE;
        return w->n == 0 && !w->dynamic && !c->guess && !c->has_code ? SHELL_SCRIPT : SHELL_OK;
    case PROGRAM: return c->operands ? SHELL_OK : SHELL_CODE;
    case WRAPPER: return value_of_wrapper(s, w, constrained);
    case REMOTE: return c->operands > 0 ? SHELL_OK : SHELL_CODE;
    case DECLARE:
        if (!shell_scan_assignment(w, &name)) return SHELL_VARIABLE;
        s->assigned = true;
        return !shell_scan_variable_is_safe(name) ? SHELL_ASSIGNMENT : s->integer ? SHELL_INTEGER : SHELL_OK;
    case PRINTF: return SHELL_FORMAT;
    default: return SHELL_OK;
    }
}

static bool positions_matter(const ShellCommand *c) {
    Kind kind = c->program->kind;
    return !c->guess && kind != OPTIONS && kind != MAKE && kind != FIND && kind != TEST && kind != DECLARE;
}

static void forbid_first(AstNode *node, const char *characters) {
    for (; *characters; characters++) {
        size_t n = strlen(node->not_first);
        if (n + 1 < sizeof node->not_first && !strchr(node->not_first, *characters)) node->not_first[n] = *characters;
    }
}

/* Words that begin with these are commands, options from a file, or operators, also after --. */
static void forbid_leads(const ShellProgram *p, AstNode *node) {
    if (p->kind == FIND) forbid_first(node, "!(),");
    if (listed(p->code, STR("+~"))) forbid_first(node, "+");
    if (listed(p->code, STR("@~"))) forbid_first(node, "@");
}

ShellRefusal shell_scan_program_value(ShellState *s, const ShellValue *v, AstNode *node) {
    ShellCommand *c = &s->command;
    const ShellWord *w = &s->word;
    Str text = { w->text, w->n };
    if (c->place == SHELL_AT_INNER) return value_of_wrapper(s, w, v->constrained);
    if (c->program && text.n == 0 && !v->constrained) forbid_leads(c->program, node);
    if (!c->program || c->stage == STAGE_FREE) return SHELL_OK;
    bool several = (v->maybe_absent || v->array) && text.n == 0;
    if (c->stage == STAGE_VALUE) return several && positions_matter(c) ? SHELL_SHIFT : SHELL_OK;
    if (c->stage == STAGE_CODE) return c->program->kind == TEST ? SHELL_VARIABLE : c->program->kind == FIND ? SHELL_REDIRECT : SHELL_CODE;
    if (c->stage == STAGE_ALL_CODE || c->program->kind == ALL) return SHELL_CODE;
    if (c->program->kind == VARIABLES) return SHELL_VARIABLE;
    Kind kind = c->program->kind;
    if (kind == MAKE && !v->constrained) return SHELL_MAKE;
    if (kind == TARGETS && !v->constrained) return SHELL_TARGET;
    if (text.n && listed_start(c->program->code, text)) return SHELL_CODE;
    if (text.n && text.at[0] == '-' && !c->dashdash && kind != FIND && kind != TEST)
        return kind == OPTIONS && str_eq(text, STR("-")) ? SHELL_OPTION : value_in_option(c->program, text);
    if (((kind == TARGET && c->operands == 0) || kind == SUBCOMMAND) && !v->constrained) return SHELL_TARGET;
    if (kind == FIND && !v->constrained) node->dash_ok = false;   /* -- ends the options of find, but not its expression */
    ShellRefusal why = value_as_operand(s, w, v->constrained);
    if (why || !positions_matter(c)) return why;
    if (several) return SHELL_SHIFT;
    if (!c->dashdash && text.n == 0) node->dash_ok = false;   /* as an option it would shift the other words */
    return SHELL_OK;
}
