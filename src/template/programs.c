/* What the words of a command mean to the program that gets them: which are code, which name another program. */
#include "template/shell.h"

typedef enum { ALL, VARIABLES, SHELL, SCRIPT, PROGRAM, WRAPPER, REMOTE, OPTIONS, DECLARE, FIND, PRINTF, TEST, SUBCOMMAND, MAKE } Kind;
struct ShellProgram { const char *name; Kind kind; uint8_t operands; const char *values, *code; };

static const ShellProgram programs[] = {
#define P(name, kind, operands, values, code) { name, kind, operands, values, code },
#include "template/programs.def"
#undef P
};
enum { N_PROGRAMS = sizeof programs / sizeof *programs };

/* What the next word is. FREE: an argument like any other. */
enum { STAGE_FREE, STAGE_OPTIONS, STAGE_VALUE, STAGE_CODE, STAGE_ALL_CODE };

static const ShellProgram *find_program(Str name) {
    for (size_t i = name.n; i-- > 0;)
        if (name.at[i] == '/') { name = str_sub(name, i + 1, name.n); break; }
    for (size_t i = 0; i < N_PROGRAMS; i++)
        if (str_eq(name, str_from(programs[i].name))) return &programs[i];
    /* python3.11, perl5.36, lua5.4, node22: the name before the version */
    size_t n = name.n;
    while (n > 0 && ((name.at[n - 1] >= '0' && name.at[n - 1] <= '9') || name.at[n - 1] == '.' || name.at[n - 1] == '-')) n--;
    return n > 0 && n < name.n ? find_program(str_sub(name, 0, n)) : NULL;
}

const char *shell_program_name(const ShellState *s) {
    if (!s->command.program) return "";
    return s->command.program->name[0] == '$' ? "a program that is not known" : s->command.program->name;
}

bool shell_variable_is_safe(Str name) {
    static const char *const whole[] = {
        "PATH", "IFS", "ENV", "BASH_ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "PS1", "PS2", "PS4", "CDPATH", "GLOBIGNORE", "HOME",
        "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "NODE_OPTIONS", "NODE_PATH", "PERL5OPT", "PERL5LIB", "PERL5DB", "RUBYOPT",
        "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "MAKEFLAGS", "TAR_OPTIONS", "LESSOPEN", "LESSCLOSE", "FPATH", "TERMINFO",
        "OPTIND", "RANDOM", "SECONDS", "HISTFILE", "INPUTRC", "EXECIGNORE",
    };
    static const char *const starts[] = { "LD_", "DYLD_", "BASH_FUNC_", "GIT_", "PYTHON" };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (str_eq(name, str_from(whole[i]))) return false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (str_starts(name, str_from(starts[i]))) return false;
    return !str_ends(name, STR("_COMMAND"));
}

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

/* Is the letter in the list? `attached`: with a *, so that it never takes the next word. */
static bool listed_letter(const char *list, char letter, bool *attached) {
    *attached = listed(list, (Str){ (const char[]){ letter, '*' }, 2 });
    return *attached || listed(list, (Str){ &letter, 1 });
}

/* A shell's options are flags, in any order: -lc, -co pipefail. */
static Found read_shell_option(Str word) {
    if (str_find_char(word, 'c') > 0) return FOUND_SHELL_CODE;
    return str_find_char(word, 'o') > 0 || str_find_char(word, 'O') > 0 ? FOUND_VALUE : FOUND_NONE;
}

/* What an option word asks for. `inside`: its value stands in the same word, or there is none. */
static Found read_option(const ShellProgram *p, Str word, bool *inside) {
    ptrdiff_t equals = str_find_char(word, '=');
    Str name = equals < 0 ? word : str_sub(word, 0, (size_t)equals);
    *inside = equals >= 0;
    if (listed(p->code, name)) return FOUND_CODE;
    if (listed(p->values, name)) return FOUND_VALUE;
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

/* ---- finished words ---- */

void shell_program_start(ShellState *s, const ShellWord *w) {
    bool in_find = s->command.in_find;
    Str name = { w->text, w->n };
    const ShellProgram *wrapper = s->command.place == SHELL_AT_INNER ? s->command.program : NULL;
    if (wrapper && w->equals && str_find_char(name, '=') > 0) return;  /* env NAME=value */
    if (wrapper && w->n > 1 && w->text[0] == '-' && !s->command.dashdash) {   /* flock FILE -c CODE */
        s->command.place = SHELL_AT_ARGS;
        shell_program_word(s, w);
        return;
    }
    const ShellProgram *any = &programs[N_PROGRAMS - 1];
    if (w->expands && !w->quoted && w->n == 0) {                       /* $SUDO cmd: may be nothing, then the next word is the program */
        s->command = (ShellCommand){ .place = SHELL_AT_INNER, .program = any, .stage = STAGE_OPTIONS, .in_find = in_find };
        return;
    }
    const ShellProgram *p = w->dynamic ? any : find_program(name);
    s->command = (ShellCommand){ .place = SHELL_AT_ARGS, .program = p, .stage = p ? STAGE_OPTIONS : STAGE_FREE,
                                 .operands = p ? p->operands : 0, .in_find = in_find, .no_args = true };
    if (str_eq(name, STR("alias")) || str_eq(name, STR("shopt")) || str_eq(name, STR("enable"))) s->unsure = true;
}

/* A shell or interpreter named among the arguments of any program: that program may run it. */
static void guess(ShellState *s, const ShellWord *w) {
    const ShellProgram *p = w->dynamic ? NULL : find_program((Str){ w->text, w->n });
    if (!p || (p->kind != SHELL && p->kind != SCRIPT && p->kind != ALL) || (p->kind == ALL && strcmp(p->name, "eval") != 0)) return;
    s->command.program = p;
    s->command.stage = STAGE_OPTIONS;
    s->command.guess = true;
    s->command.code_next = false;
}

/* perl -n and ruby -p open the files they are given in a way that runs "command |". */
static bool opens_files(const ShellProgram *p) { return strcmp(p->name, "perl") == 0 || strcmp(p->name, "ruby") == 0; }
static bool is_python(const ShellProgram *p) { return p->name[0] == 'p' && p->name[1] == 'y'; }

static void finished_option(ShellState *s, Str text, const ShellWord *w) {
    ShellCommand *c = &s->command;
    bool inside;
    switch (read_option(c->program, text, &inside)) {
    case FOUND_NONE: break;
    case FOUND_VALUE: if (!inside && !w->dynamic) c->stage = STAGE_VALUE; break;
    case FOUND_CODE:
        if (c->program->kind == PROGRAM) c->operands = 1;  /* the first operand is a file then */
        if (!inside && !w->dynamic) c->stage = STAGE_CODE;
        break;
    case FOUND_SHELL_CODE:
        c->code_next = true;
        if (str_find_char(text, 'o') > 0 || str_find_char(text, 'O') > 0) c->stage = STAGE_VALUE;
        break;
    }
    if (opens_files(c->program) && text.at[1] != '-' && (str_find_char(text, 'n') > 0 || str_find_char(text, 'p') > 0)) c->magic = true;
}

static void finished_operand(ShellState *s, const ShellWord *w) {
    ShellCommand *c = &s->command;
    switch (c->program->kind) {
    case WRAPPER:
        if (c->operands == 0) { c->place = SHELL_AT_INNER, shell_program_start(s, w); break; }
        c->stage = STAGE_OPTIONS;
        if (--c->operands == 0) c->place = SHELL_AT_INNER;
        break;
    case REMOTE:
        if (c->operands > 0) c->operands--;
        if (c->operands == 0) c->stage = STAGE_ALL_CODE;
        break;
    case SHELL: case SCRIPT: case PROGRAM: case PRINTF: case SUBCOMMAND: c->stage = STAGE_FREE; break;
    default: break;
    }
}

/* Arguments of a program that merely looks like an interpreter: a word that may be absent moves nothing on. */
static bool may_be_absent(const ShellCommand *c, const ShellWord *w) { return c->guess && w->only; }

static void finished_find(ShellState *s, Str text) {
    static const char *const starts[] = { "-exec", "-execdir", "-ok", "-okdir" };
    for (size_t i = 0; i < 4; i++)
        if (str_eq(text, str_from(starts[i])))
            s->command = (ShellCommand){ .place = SHELL_AT_INNER, .in_find = true };
}

static void finished_declaration(ShellState *s, Str text) {
    if (text.n > 1 && (text.at[0] == '-' || text.at[0] == '+') && (str_find_char(text, 'i') > 0 || str_find_char(text, 'n') > 0))
        s->integer = true;
}

void shell_program_word(ShellState *s, const ShellWord *w) {
    ShellCommand *c = &s->command;
    Str text = { w->text, w->n };
    if (c->in_find && !w->dynamic && (str_eq(text, STR(";")) || str_eq(text, STR("+")))) {
        s->command = (ShellCommand){ .place = SHELL_AT_ARGS, .program = find_program(STR("find")), .stage = STAGE_OPTIONS };
        return;
    }
    bool options_over = c->dashdash;
    if (!w->dynamic && str_eq(text, STR("--"))) c->dashdash = true;
    if (!c->program || c->stage == STAGE_FREE) { guess(s, w); return; }
    if (c->stage == STAGE_ALL_CODE) return;
    if (c->stage == STAGE_VALUE || c->stage == STAGE_CODE) {
        bool last = c->stage == STAGE_CODE && is_python(c->program);    /* the rest is the code's own */
        c->stage = last ? STAGE_FREE : STAGE_OPTIONS;
        return;
    }
    if (c->program->kind == FIND) { finished_find(s, text); return; }
    if (c->program->kind == DECLARE) finished_declaration(s, text);
    if (c->program->kind == TEST) { if (str_eq(text, STR("-v")) || str_eq(text, STR("-R"))) c->stage = STAGE_CODE; return; }
    if (c->program->kind == DECLARE || c->program->kind <= VARIABLES) return;
    /* An unquoted expansion may be any number of words, options among them. */
    if (w->expands && w->n == 0) { if (c->program->kind != OPTIONS && c->program->kind != MAKE) s->unsure = true; return; }
    if (text.n > 0 && (text.at[0] == '-' || (text.at[0] == '+' && c->program->kind == SHELL)) && !options_over) {
        if (!str_eq(text, STR("--"))) finished_option(s, text, w);
        if (str_eq(text, STR("-")) && c->program->kind != OPTIONS && c->program->kind != WRAPPER) finished_operand(s, w);
        return;
    }
    if (c->code_next) { c->code_next = false, c->stage = STAGE_FREE; return; }
    if (!may_be_absent(c, w)) finished_operand(s, w);
}

/* ---- parameters ---- */

/* A parameter inside a word that starts like an option. */
static ShellRefusal value_in_option(const ShellProgram *p, Str text) {
    bool inside;
    bool is_long = str_starts(text, STR("--")) || str_find_char(text, '=') > 0;
    Found found = read_option(p, text, &inside);
    if (found == FOUND_CODE) return SHELL_CODE;
    if (found == FOUND_VALUE) return SHELL_OK;
    if (found == FOUND_SHELL_CODE) return SHELL_OPTION;
    return is_long && str_find_char(text, '=') > 0 ? SHELL_OK : SHELL_OPTION;
}

static ShellRefusal value_of_wrapper(ShellState *s, const ShellWord *w) {
    Str name;
    if (s->command.place == SHELL_AT_ARGS && s->command.operands > 0) return SHELL_OK;
    if (!shell_assignment(w, &name)) return SHELL_COMMAND;
    return shell_variable_is_safe(name) ? SHELL_OK : SHELL_ASSIGNMENT;
}

static ShellRefusal value_as_operand(ShellState *s, const ShellWord *w) {
    const ShellCommand *c = &s->command;
    Str name;
    switch (c->program->kind) {
    case SHELL:
        if (c->code_next) return SHELL_CODE;
        return w->n == 0 && !w->dynamic && !c->guess ? SHELL_SCRIPT : SHELL_OK;
    case SCRIPT: return c->magic ? SHELL_CODE : SHELL_OK;
    case PROGRAM: return c->operands ? SHELL_OK : SHELL_CODE;
    case WRAPPER: return value_of_wrapper(s, w);
    case REMOTE: return c->operands > 0 ? SHELL_OK : SHELL_CODE;
    case DECLARE:
        if (!shell_assignment(w, &name)) return SHELL_VARIABLE;
        s->assigned = true;
        return !shell_variable_is_safe(name) ? SHELL_ASSIGNMENT : s->integer ? SHELL_INTEGER : SHELL_OK;
    case PRINTF: return SHELL_FORMAT;
    default: return SHELL_OK;
    }
}

static bool positions_matter(const ShellCommand *c) {
    Kind kind = c->program->kind;
    return !c->guess && kind != OPTIONS && kind != MAKE && kind != FIND && kind != TEST && kind != DECLARE;
}

ShellRefusal shell_program_value(ShellState *s, const ShellValue *v, AstNode *node) {
    ShellCommand *c = &s->command;
    const ShellWord *w = &s->word;
    Str text = { w->text, w->n };
    if (c->place == SHELL_AT_INNER) return value_of_wrapper(s, w);
    if (!c->program || c->stage == STAGE_FREE) return SHELL_OK;
    bool several = (v->maybe_absent || v->array) && text.n == 0;
    if (c->stage == STAGE_VALUE) return several && positions_matter(c) ? SHELL_SHIFT : SHELL_OK;
    if (c->stage == STAGE_CODE) return c->program->kind == TEST ? SHELL_VARIABLE : SHELL_CODE;
    if (c->stage == STAGE_ALL_CODE || c->program->kind == ALL) return SHELL_CODE;
    if (c->program->kind == VARIABLES) return SHELL_VARIABLE;
    Kind kind = c->program->kind;
    if (kind == MAKE && !v->constrained) return SHELL_MAKE;
    if (text.n && text.at[0] == '-' && !c->dashdash && kind != FIND && kind != TEST)
        return kind == OPTIONS && str_eq(text, STR("-")) ? SHELL_OPTION : value_in_option(c->program, text);
    ShellRefusal why = value_as_operand(s, w);
    if (why || !positions_matter(c)) return why;
    if (several) return SHELL_SHIFT;
    if (!c->dashdash && text.n == 0) node->dash_ok = false;   /* as an option it would move the others */
    return SHELL_OK;
}
