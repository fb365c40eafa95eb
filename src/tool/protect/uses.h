/* Determines which files of the workspace a command line uses: for command hooks, for keys of git's configuration,
 * for MCP servers that are programs, and for tools that get values of the user's environment (secrets).
 *
 * The text is parsed (shell/shell.h). Literal `cd` and options such as `make -C` are followed; where the order matters, every order is
 * assumed. A word is code (a program, a script, a module, a folder to work in, a variable that a loader reads) or data (the rest).
 * What a word names is added to the list:
 *   a hook     every file and folder that a word names, with the folder that a file is in; and every name that does not exist yet
 *   a server   code with its folder, existing or not; of data the files alone, because a server may work on a folder
 *   a tool     the same as a server
 *   git        the same as a server; and of data, paths with a slash that do not exist yet
 * A folder that contains the workspace cannot be protected. Then only the file is added, and UsesFound reports it. */
#pragma once
#include "artifact/project.h"
#include "shell/shell.h"
#include "tool/protect/protected.h"

typedef enum { USES_HOOK, USES_SERVER, USES_TOOL, USES_GIT } UsesBy;

typedef struct UsesFound {
    const char *why;                     /* why the effect is unknown before it runs; NULL: it is known */
    Str word;                            /* the word, as written */
    const char *instead;                 /* hint: what to write instead */
    Str exposed;                         /* a program in a folder that contains the workspace; empty: none */
    bool safe_path;                      /* Python would look for modules in such a folder */
    Str reads;                           /* a tool: a program that reads more files of such a folder than can be protected; empty: none */
} UsesFound;

void uses_text(ProtectedList *l, UsesBy by, Str folder, Str text, UsesFound *found);
void uses_quote(Buf *out, Str word);                                            /* as one word of shell text */
void uses_argv(ProtectedList *l, UsesBy by, Str folder, Str program, const StrList *args, UsesFound *found);
void uses_variable(ProtectedList *l, UsesBy by, Str folder, Str name, Str value, UsesFound *found);      /* of an environment */
void uses_hook(ProtectedList *l, const HookDef *h, UsesFound *found);
void uses_server(ProtectedList *l, const ServerDef *s, UsesFound *found);
void uses_tool(ProtectedList *l, const ToolDef *t, UsesFound *found);           /* uses_tool.c; nothing for a tool without secrets */
/* True if the tool gets values that other calls do not have: ${NAME} in `environment`, envPassthrough, injected secrets, or env() of a script. */
bool uses_secret(const Project *p, const ToolDef *t);

/* Checks every command hook, server and tool with secrets: reports what is unknown before it runs, and records what cannot be protected. */
bool uses_check(Project *p, Problems *problems);

/* uses_table.c: how a program interprets its words. */
typedef enum {
    USES_PLAIN,                          /* all operands are data; the table may list options whose value is code */
    USES_SHELL,                          /* the first operand is a script, or after -c shell text that is listed separately */
    USES_SCRIPT,                         /* the first operand is a script, unless an option has the code */
    USES_PROGRAM,                        /* the first operand is code in a small language: awk, sed */
    USES_TARGETS,                        /* every operand selects what is run */
    USES_TARGET,                         /* only the first operand selects what is run */
    USES_SUBCOMMAND,
    USES_WRAPPER,                        /* a wrapper: the command that it runs is listed separately */
} UsesKind;
typedef struct UsesRow UsesRow;
const UsesRow *uses_row(Str program);                                           /* NULL: not listed */
const UsesRow *uses_row_sub(const UsesRow *row, Str operand);
UsesKind uses_row_kind(const UsesRow *row);
/* The meaning of an option of the program: */
typedef enum { USES_FLAG, USES_VALUE, USES_CODE_VALUE } UsesOption;
UsesOption uses_row_option(const UsesRow *row, Str word, size_t *inside);       /* as wrappers_option() */
bool uses_is_python(Str program);
bool uses_is_language(Str program);                                             /* its inline code can name modules: python, node, perl … */
bool uses_names_folder(Str program, Str option);                                /* -C, --directory: the program works there */
bool uses_loader_variable(Str name);                                            /* the value can select code to run */
bool uses_writes(Str program);                                                  /* tee, mkdir: its operands are files that it creates */
bool uses_looks_like_code(const char *path, unsigned mode);

/* uses_words.c: which words are names of files. */
bool uses_is_name(Str word);                                                    /* not a number or a format */
bool uses_is_text(const ShellCommands *list, size_t at, size_t word, bool code); /* the word is a pattern, a sub-command, text … */
bool uses_takes_module(const ShellCommand *c, size_t word);                     /* the application of uvicorn, flask … */
bool uses_runs_files(Str program, Str operand);                                 /* the operand is a file, not a sub-command */
bool uses_runs_package_script(const ShellCommand *c);
StrList uses_loose_names(Str text, Arena *arena);                               /* lists of `for`, arrays, files in [[ ]] */
