/* How programs interpret their words: the rows of shell/wrappers.def and template/programs.def, in the form that uses.c needs. */
#include <strings.h>
#include <sys/stat.h>
#include "shell/wrappers.h"
#include "template/template.h"
#include "tool/protect/uses.h"

struct UsesRow { Wrapper w; UsesKind kind; };      /* w.text: the options whose value is code */

enum {
    W_WRAPPER = USES_WRAPPER, W_XARGS = USES_WRAPPER, W_SHELL = USES_SHELL, W_JOIN = USES_WRAPPER, W_TEXT = USES_PLAIN, W_STDIN = USES_PLAIN,
    W_TEXT_OR_COMMAND = USES_WRAPPER, W_PARALLEL = USES_WRAPPER, W_FIND = USES_WRAPPER, W_SUBCOMMAND = USES_SUBCOMMAND,
    P_ALL = USES_TARGETS, P_VARIABLES = USES_PLAIN, P_SHELL = USES_SHELL, P_SCRIPT = USES_SCRIPT, P_PROGRAM = USES_PROGRAM, P_WRAPPER = USES_WRAPPER,
    P_REMOTE = USES_PLAIN, P_OPTIONS = USES_PLAIN, P_DECLARE = USES_PLAIN, P_FIND = USES_WRAPPER, P_PRINTF = USES_PLAIN, P_TEST = USES_PLAIN,
    P_SUBCOMMAND = USES_SUBCOMMAND, P_MAKE = USES_PLAIN, P_TARGET = USES_TARGET, P_TARGETS = USES_TARGETS,
};

static const UsesRow rows[] = {
#define W(name, kind, operands, values, text, code) { { name, 0, operands, values, text " " code, "" }, (UsesKind)W_##kind },
#include "shell/wrappers.def"
#undef W
#define P(name, kind, operands, values, code) { { name, 0, operands, values, code, "" }, (UsesKind)P_##kind },
#include "template/programs.def"
#undef P
    /* Programs that load modules from their working folder, and further programs that run scripts. */
#define U(name, kind, values, code) { { name, 0, 0, values, code, "" }, kind },
    U("uvicorn", USES_PLAIN, "--host --port --fd --uds --log-level --reload-dir --workers", "--env-file --log-config")
    U("gunicorn", USES_PLAIN, "b w k t n u g m --bind --workers --worker-class --timeout --name --user --group", "c p --config --pythonpath")
    U("hypercorn", USES_PLAIN, "b k w --bind --workers", "c --config")
    U("daphne", USES_PLAIN, "b p u v", "")
    U("granian", USES_PLAIN, "--host --port --interface --workers", "--working-dir --env-files")
    U("waitress-serve", USES_PLAIN, "--host --port --listen", "--call")
    U("dramatiq", USES_PLAIN, "p t Q", "P --path")
    U("flask", USES_PLAIN, "h p --host --port", "e A --env-file --app")
    U("quart", USES_PLAIN, "h p --host --port", "e A --env-file --app")
    U("celery", USES_PLAIN, "b --broker --result-backend", "A --app --config --loader")
    U("tsx", USES_SCRIPT, "", "e p r --eval --print --require --import --loader --tsconfig --env-file")
    U("ts-node", USES_SCRIPT, "O", "e p r P --eval --print --require --project")
    U("vite-node", USES_SCRIPT, "", "c --config --root")
    U("jiti", USES_SCRIPT, "", "")
    U("esno", USES_SCRIPT, "", "")
    U("zx", USES_SCRIPT, "", "--eval")
    U("babel-node", USES_SCRIPT, "", "e p r --eval --print --require --config-file --presets --plugins")
    U("electron", USES_SCRIPT, "", "r --require")
#undef U
};

static bool among(Str word, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(word, str_from(list[i]))) return true;
    return false;
}
#define AMONG(word, list) among(word, list, sizeof(list) / sizeof *(list))

static const UsesRow *find(Str name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(name, str_from(rows[i].w.name)) && str_find_char(name, '$') < 0) return &rows[i];
    return NULL;
}

/* python3.11 is python, node22 is node. */
static Str without_version(Str name) {
    size_t n = name.n;
    while (n > 0 && ((name.at[n - 1] >= '0' && name.at[n - 1] <= '9') || name.at[n - 1] == '.' || name.at[n - 1] == '-')) n--;
    return n ? str_sub(name, 0, n) : name;
}

const UsesRow *uses_row(Str program) {
    if (str_find_char(program, ' ') >= 0 || !program.n) return NULL;
    const UsesRow *row = find(program);
    return row ? row : find(without_version(program));
}

const UsesRow *uses_row_sub(const UsesRow *row, Str operand) {
    const UsesRow *any = NULL;
    Str first = str_from(row->w.name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Str name = str_from(rows[i].w.name);
        if (!str_starts(name, first) || name.n < first.n + 2 || name.at[first.n] != ' ') continue;
        Str rest = str_sub(name, first.n + 1, name.n);
        if (str_eq(rest, operand)) return &rows[i];
        if (str_eq(rest, STR("*"))) any = &rows[i];
    }
    return any;
}

UsesKind uses_row_kind(const UsesRow *row) { return row ? row->kind : USES_PLAIN; }

UsesOption uses_row_option(const UsesRow *row, Str word, size_t *inside) {
    *inside = 0;
    if (!row) return USES_FLAG;
    WrapperOption o = wrappers_option(&row->w, word, inside);
    return o == WRAPPER_TEXT_VALUE ? USES_CODE_VALUE : o == WRAPPER_VALUE ? USES_VALUE : USES_FLAG;
}

bool uses_is_python(Str program) { return str_starts(program, STR("python")) || str_starts(program, STR("pypy")); }

bool uses_is_language(Str program) {
    static const char *const names[] = { "python", "pypy", "node", "nodejs", "perl", "ruby", "php", "lua", "luajit", "deno", "bun", "julia",
        "Rscript", "elixir", "guile", "tclsh" };
    Str name = without_version(program);
    return AMONG(name, names);
}

bool uses_names_folder(Str program, Str option) {
    static const char *const not_work[] = { "git", "tar", "grep", "rg", "egrep", "fgrep", "diff", "curl", "ssh" };
    static const char *const names[] = { "-C", "--directory", "--project", "--prefix", "--cwd", "--chdir", "--dir", "--app-dir", "--rootdir",
                                         "--root", "--working-directory", "--workdir", "--wd", "--cd", "--project-directory", "--manifest-path",
                                         "--chroot" };
    static const char *const packages[] = { "npx", "npm", "pnpm", "pnpx", "bunx", "yarn" };
    if (AMONG(program, packages) && (str_eq(option, STR("-p")) || str_eq(option, STR("--package")))) return true;
    if (str_eq(program, STR("conda")) && str_eq(option, STR("-p"))) return true;
    return !AMONG(program, not_work) && AMONG(option, names);
}

/* True for variables that shells, loaders and interpreters read when they start. Variables in `text` cannot load code, although templates reject them. */
bool uses_loader_variable(Str name) {
    static const char *const text[] = { "IFS", "PS1", "PS2", "PS4", "OPTIND", "RANDOM", "SECONDS", "HISTFILE", "SHELL", "CFLAGS", "CXXFLAGS",
                                        "CPPFLAGS", "LDFLAGS", "KUBECONFIG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH",
                                        "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONHASHSEED", "PYTHONWARNINGS", "RUST_LOG", "RUST_BACKTRACE",
                                        "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL" };
    static const char *const more[] = { "UV_PROJECT", "UV_PROJECT_ENVIRONMENT", "UV_WORKING_DIRECTORY", "UV_WORKING_DIR", "UV_CONFIG_FILE",
                                        "UV_ENV_FILE", "UV_PYTHON", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR", "UV_FIND_LINKS", "VIRTUAL_ENV", "CONDA_PREFIX",
                                        "JAVA_HOME", "FLASK_APP", "GUNICORN_CMD_ARGS", "UVICORN_APP", "UVICORN_APP_DIR", "DJANGO_SETTINGS_MODULE",
                                        "CELERY_CONFIG_MODULE", "BUNDLE_GEMFILE", "GEM_HOME", "GEM_PATH", "BUN_OPTIONS", "TS_NODE_PROJECT",
                                        "TSX_TSCONFIG_PATH", "MAKEFILES", "R_LIBS", "R_LIBS_USER", "JULIA_LOAD_PATH", "JULIA_PROJECT",
                                        "GUILE_LOAD_PATH", "TCLLIBPATH", "LUA_PATH", "LUA_CPATH", "LOCPATH", "XDG_CONFIG_HOME" };
    if (AMONG(name, more)) return true;
    return !AMONG(name, text) && !template_variable_is_safe(name);
}

bool uses_writes(Str program) {
    static const char *const names[] = { "tee", "touch", "mkdir", "rmdir", "rm", "mktemp", "mkfifo", "truncate", "logger" };
    return AMONG(program, names);
}

bool uses_looks_like_code(const char *path, unsigned mode) {
    static const char *const ends[] = { "py", "pyc", "pyz", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "rb", "pl", "pm", "sh", "bash",
                                        "zsh", "fish", "lua", "php", "jar", "class", "dll", "so", "wasm", "go", "rs", "r", "jl", "ex", "exs", "tcl",
                                        "groovy", "kts", "clj", "awk", "sed", "jq", "mk", "cfg", "toml" };
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return (mode & 0111) || (dot && AMONG(str_from(dot + 1), ends));
}
