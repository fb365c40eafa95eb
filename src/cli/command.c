#include "cli/command.h"
#include <string.h>

const Flag command_global_flags[] = {
    { "--chdir", "-C", "DIR", NULL, "work in DIR" },
    { "--config", "-c", "FILE", NULL, "use FILE as the project file ($HARNESS_CONFIG)" },
    { "--json", NULL, NULL, NULL, "machine-readable output" },
    { "--verbose", "-v", NULL, NULL, "log more (level debug)" },
    { "--quiet", "-q", NULL, NULL, "log errors only" },
    { "--log-level", NULL, "LEVEL", "debug|info|warn|error", "least level to log ($HARNESS_LOG_LEVEL)" },
    { "--log-format", NULL, "FORMAT", "text|json", "how to log ($HARNESS_LOG_FORMAT)" },
    { "--color", NULL, "WHEN", "auto|always|never", "colours on a terminal (also $NO_COLOR)" },
    { "--help", "-h", NULL, NULL, "show help" },
    { 0 },
};

static const Flag schema_test_flags[] = {
    { "--remotes", NULL, "DIR", NULL, "DIR stands for http://localhost:1234/" },
    { "--assert-format", NULL, NULL, NULL, "format is an assertion" },
    { 0 },
};

static const Flag starlark_flags[] = {
    { "--eval", "-e", "CODE", NULL, "run CODE; print an expression's value" },
    { "--check", NULL, NULL, NULL, "parse and resolve only" },
    { "--bench", NULL, NULL, NULL, "call each FN three times, print the best time" },
    { "--allow-recursion", NULL, NULL, NULL, "functions may call themselves" },
    { "--allow-while", NULL, NULL, NULL, "while loops" },
    { "--allow-toplevel", NULL, NULL, NULL, "for, if and rebinding at top level" },
    { 0 },
};

const Command command_table[] = {
    {
        .name = "completion", .operands = "bash|zsh|fish", .choices = "bash|zsh|fish", .min = 1, .max = 1,
        .summary = "print a completion script for a shell",
        .about = "Prints a script that completes commands and flags in your shell.",
        .example = "source <(harness completion bash)\n"
                   "harness completion fish > ~/.config/fish/completions/harness.fish",
        .run = command_completion,
    },
    {
        .name = "doctor", .operands = "",
        .summary = "say what this machine offers",
        .about = "Checks the kernel features that the sandbox needs, the libraries that are\n"
                 "loaded on first use, and which model keys the environment holds (names only).\n"
                 "Exits 1 when something required is missing.",
        .example = "harness doctor --json",
        .run = command_doctor,
    },
    {
        .name = "help", .operands = "[COMMAND]", .max = 2,
        .summary = "show help for harness or one command",
        .about = "Shows the list of commands, or all about one of them.",
        .example = "harness help json check",
        .run = command_help,
    },
    {
        .name = "json check", .operands = "FILE", .min = 1, .max = 1,
        .summary = "check that a file is valid JSON",
        .about = "Exits 0 when FILE is valid RFC 8259 JSON. Otherwise exits 1 and says what is\n"
                 "wrong, with line and column. A FILE of - reads standard input.",
        .example = "harness json check package.json",
        .run = command_json_check,
    },
    {
        .name = "pull", .operands = "",
        .summary = "fetch pinned artifact sources",
        .about = "Fetches the git repositories under artifact_sources of harness.md, at the commit\n"
                 "or tag they are pinned to, into the cache ($XDG_STATE_HOME/harness/sources), and\n"
                 "checks every checksum. What is there already is not fetched again. This is the\n"
                 "only command that uses the network for artifacts; HARNESS_OFFLINE=1 forbids it.",
        .example = "harness pull",
        .run = command_pull,
    },
    {
        .name = "schema test", .operands = "FILE...", .min = 1, .max = 1000,
        .summary = "run JSON Schema test suite files",
        .about = "Runs files in the format of the JSON-Schema-Test-Suite, draft 2020-12. Lists\n"
                 "each failure as FILE: GROUP: TEST; the last line is N passed, M failed. The\n"
                 "meta-schemas of 2020-12 are built in; nothing is fetched from a network.",
        .example = "harness schema test --remotes remotes tests/draft2020-12/*.json",
        .flags = schema_test_flags, .run = command_schema_test,
    },
    {
        .name = "schema validate", .operands = "SCHEMA INSTANCE", .min = 2, .max = 2,
        .summary = "validate JSON against a JSON Schema",
        .about = "Validates the JSON file INSTANCE against SCHEMA (draft 2020-12). Exits 0 when it\n"
                 "is valid, 1 when it is not, with one line for each problem: a JSON pointer, a\n"
                 "colon, the message. Exits 2 when the schema is bad. References may lead to files\n"
                 "beside SCHEMA and below, never to a network. An INSTANCE of - reads standard\n"
                 "input.",
        .example = "harness schema validate tool.schema.json arguments.json",
        .run = command_schema_validate,
    },
    {
        .name = "starlark", .operands = "[FILE [FN...]]", .max = 1000,
        .summary = "run Starlark",
        .about = "Runs a Starlark file, an expression (-e), or without either a prompt. print\n"
                 "writes to standard error. A failure prints the traceback and Error: TEXT on\n"
                 "standard error and exits 1. json and math are predeclared.",
        .example = "harness starlark -e 'sorted([3, 1, 2])'\n"
                   "harness starlark --bench sieve.star run",
        .flags = starlark_flags, .run = command_starlark,
    },
    {
        .name = "version", .operands = "",
        .summary = "print the version",
        .about = "Prints the version, the commit it was built from, and the linked libraries.",
        .example = "harness version --json",
        .run = command_version,
    },
};
const size_t command_count = sizeof command_table / sizeof *command_table;

const Command *command_find(const char *name) {
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(command_table[i].name, name) == 0) return &command_table[i];
    return NULL;
}

bool command_is_group(const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i < command_count; i++)
        if (strncmp(command_table[i].name, word, n) == 0 && command_table[i].name[n] == ' ') return true;
    return false;
}

const Flag *command_flag(const Flag *list, const char *name, size_t n) {
    for (const Flag *f = list; f && f->name; f++) {
        if (strlen(f->name) == n && memcmp(f->name, name, n) == 0) return f;
        if (f->letter && strlen(f->letter) == n && memcmp(f->letter, name, n) == 0) return f;
    }
    return NULL;
}
