/* What every command works with: its arguments, the global settings, the log, and the one
 * way out. Results go to standard output, everything for a person to standard error. */
#pragma once
#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/args.h"

struct Project;
struct Redactor;

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_WRONG_USE = 2, CLI_INTERRUPTED = 130 };

struct Cli {
    Args args;
    const char *config;          /* the project file asked for; NULL: look for it */
    bool json;
    bool color_out, color_err;   /* colours on standard output, on standard error? */
    bool terminal_out;           /* is standard output a terminal? */
    Log log;
    Buf out;                     /* results, until cli_flush */
    struct Redactor *secrets;    /* literal credentials of the project; NULL: none is loaded */
    bool listing;                /* the result shows files of the project: credentials in it that have the form of one are masked too */
    char *project;               /* the folder of the project that was found above this one; NULL: none, or not looked for */
    bool looked;                 /* for it */
};

/* Reads the global flags and their twins in the environment, and goes to the folder of -C. */
bool cli_init(Cli *cli, Error *err);
/* The folder of the project, for commands that load it: NULL is this folder. A project that was found above is named on standard error. */
const char *cli_project(Cli *cli);
void cli_clear(Cli *cli);

/* Writes out what the command has put into cli->out. False, and a line on standard error, when
 * that fails (a full disk, a closed pipe). */
bool cli_flush(Cli *cli);

/* What the project's files say literally is kept out of results and messages from now on. */
void cli_know(Cli *cli, const struct Project *project);

/* Adds text from outside as it is, or escaped when standard output is a terminal. */
void cli_add_bytes(Cli *cli, Str text);

/* Reports a failure: one line on standard error or, with --json, {"error": …} on standard
 * output in place of any result. Returns `status`, so that a command ends with
 *     return cli_fail(cli, CLI_FAILED, &err);                                              */
int cli_fail(Cli *cli, int status, const Error *err);

/* Lines for a person on standard error, each "harness: TEXT". Control characters in TEXT are escaped: a file
 * name cannot move the cursor. */
typedef enum { SAY_ERROR, SAY_WARNING, SAY_HINT } SayLevel;         /* decides the colour alone */
void cli_say(const Cli *cli, SayLevel level, Str text);
/* The one way to a descriptor that may be a terminal. There, what a terminal obeys or does not show (utf8_is_deceptive, except
 * newline and tab) is written as \uXXXX, which in JSON means the same; elsewhere every byte goes out as it is. `effects`: escape
 * sequences of harness itself (colours, cursor) are in the text, and stay; text from outside must be escaped already then. */
bool cli_write(int fd, Str text, bool effects);
void cli_escape(Buf *out, Str text, bool keep_lines);               /* that escaping; keep_lines: "\n" and "\t" stay */
void cli_escape_all(Buf *out, Str text, bool keep_lines);           /* for what a person decides by: also what reorders or hides text, as \u{…} */

/* The whole of a file, or of standard input when path is "-". */
bool cli_read(const char *path, size_t limit, Buf *out, Error *err);
