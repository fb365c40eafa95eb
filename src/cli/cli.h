/* State of every command: its arguments, the global settings, the log and the output. Results go to standard output,
 * messages for the user to standard error. */
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
    const char *config;          /* the given project file; NULL: search for it */
    bool json;
    bool color_out, color_err;   /* true if standard output, standard error use colours */
    bool terminal_out;           /* true if standard output is a terminal */
    Log log;
    Buf out;                     /* results, until cli_flush */
    struct Redactor *secrets;    /* literal credentials of the project; NULL: none is loaded */
    bool listing;                /* the result shows files of the project: also masks text that looks like a credential */
    char *project;               /* the folder of the project found in a parent folder; NULL: none, or not searched */
    bool looked;                 /* of `upward` */
};

/* Reads the global flags and the corresponding environment variables, and changes to the folder of -C. */
bool cli_init(Cli *cli, Error *err);
/* The folder of the project, for commands that load it: NULL is this folder. If the project was found in a parent folder, names it on standard
 * error. */
const char *cli_project(Cli *cli);
void cli_clear(Cli *cli);

/* Writes cli->out to standard output. On failure (a full disk, a closed pipe) false, and a line on standard error. */
bool cli_flush(Cli *cli);

/* From now on redacts literal credentials of the project's files in results and messages. */
void cli_know(Cli *cli, const struct Project *project);

/* Redacts in the data of an event, for files that a command writes, what cli_flush redacts in a result. */
void cli_hide_json(const Cli *cli, Buf *json);

/* Adds text from outside unchanged, or escaped when standard output is a terminal. */
void cli_add_bytes(Cli *cli, Str text);

/* Reports a failure: one line on standard error or, with --json, {"error": …} on standard
 * output in place of any result. Returns `status`, so that a command ends with
 *     return cli_fail(cli, CLI_FAILED, &err);                                              */
int cli_fail(Cli *cli, int status, const Error *err);

/* Messages for the user on standard error, each "harness: TEXT". Escapes control characters in TEXT, so that a file
 * name cannot move the cursor. */
typedef enum { SAY_ERROR, SAY_WARNING, SAY_HINT } SayLevel;         /* only sets the colour */
void cli_say(const Cli *cli, SayLevel level, Str text);
/* Masks credentials: those of the project, and text that looks like one. cli_say does it. */
void cli_mask(const Cli *cli, Buf *text);
/* All output to a descriptor that may be a terminal goes through here. On a terminal, characters that it interprets or
 * does not show (utf8_is_deceptive, except newline and tab) are written as \uXXXX, which JSON treats as equal;
 * elsewhere bytes are unchanged. `effects`: the text contains harness's own escape sequences (colours, cursor), which
 * are kept; text from outside must already be escaped then. */
bool cli_write(int fd, Str text, bool effects);
bool cli_stream(int fd, Str text);                                  /* the same, with effects, for a text that arrives in
                                                                     * pieces (screen_stream) */
void cli_escape(Buf *out, Str text, bool keep_lines);               /* the same escaping; keep_lines: keeps "\n" and
                                                                     * "\t" */
void cli_escape_all(Buf *out, Str text, bool keep_lines);           /* for text that the user decides by: also escapes
                                                                     * characters that reorder or hide text, as \u{…} */

/* The whole of a file, or of standard input when path is "-". */
bool cli_read(const char *path, size_t limit, Buf *out, Error *err);
