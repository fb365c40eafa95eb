/* Shared by all formats of tools that start programs: command templates and argument vectors. */
#include "artifact/load_program.h"
#include "value/list.h"

#define BIN "./tools/bin/"

/* ---- command templates ---- */

static bool is_listed(Value list, Str name) {
    for (uint32_t i = 0; value_is_list(list) && i < value_list(list)->n; i++)
        if (value_is_string(value_list(list)->at[i]) && str_eq(value_str(value_list(list)->at[i]), name)) return true;
    return false;
}

static bool has_type(Value property, const char *type) {
    return str_eq(value_member_text(property, "type"), str_from(type));
}

/* The parameters for the template, read back from their schema. */
static TemplateParam *template_params(Arena *arena, Value schema, size_t *n) {
    Value properties = value_member(schema, "properties"), required = value_member(schema, "required");
    *n = 0;
    if (!value_is_dict(properties)) return NULL;
    TemplateParam *out = ARENA_ARRAY(arena, TemplateParam, value_dict(properties)->n + 1);
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(properties), &i, &e);)
        out[(*n)++] = (TemplateParam){
            .name = value_str(e->key), .required = is_listed(required, value_str(e->key)),
            .array = has_type(e->value, "array"), .object = has_type(e->value, "object"),
            .constrained = !value_is_gone(value_member(e->value, "enum")) || !value_is_gone(value_member(e->value, "pattern")),
            .fallback = value_member(e->value, "default"),
        };
    return out;
}

bool load_program_command(Loader *l, const LoaderPlace *at, Str command, ToolDef *t) {
    TemplateCommand options = { .unsafe_raw = t->unsafe_raw };
    if (str_trim(command).n == 0 || memchr(command.at, 0, command.n)) {
        loader_error(l, at, "command", "tool \"" STR_FMT "\": command must not be empty or contain NUL", STR_ARG(t->name));
        return false;
    }
    options.params = template_params(l->docs.arena, t->parameters, &options.n_params);
    t->command = loader_command(l, at, "command", &options);
    if (t->command && t->unsafe_raw && template_has_raw(t->command))
        loader_warn(l, at, "unsafe_raw", NULL, "tool \"" STR_FMT "\": unsafe_raw puts values into the shell command unquoted", STR_ARG(t->name));
    return t->command != NULL;
}

/* ---- argument vectors ---- */

/* Removes "." and ".." from a relative path, without file system access. Keeps ".." that lead above the start. */
static Str normalized(Arena *arena, Str path) {
    Str *part = ARENA_ARRAY(arena, Str, path.n + 1);
    size_t n = 0;
    for (size_t from = 0; from <= path.n;) {
        ptrdiff_t slash = str_find_char(str_sub(path, from, path.n), '/');
        size_t to = slash < 0 ? path.n : from + (size_t)slash;
        Str p = str_sub(path, from, to);
        from = to + 1;
        if (p.n == 0 || str_eq(p, STR("."))) continue;
        if (str_eq(p, STR("..")) && n && !str_eq(part[n - 1], STR(".."))) n--;
        else part[n++] = p;
    }
    Buf out = { 0 };
    if (n == 0 || !str_eq(part[0], STR(".."))) buf_add(&out, STR("."));
    for (size_t i = 0; i < n; i++) {
        if (out.n) buf_add_char(&out, '/');
        buf_add(&out, part[i]);
    }
    Str copy = arena_str(arena, buf_str(&out));
    buf_clear(&out);
    return copy;
}

/* Path of the program relative to the definition's folder; keeps an absolute path. */
static bool check_program(Loader *l, const LoaderPlace *at, const char *key, const char *label, Str *program) {
    if (str_starts(*program, STR("/"))) return true;
    if (!str_starts(*program, STR(BIN))) {
        problems_add(l->docs.problems, PROBLEM_ERROR, at->origin.file, document_place(at->document, at->map, str_from(key)),
                     STR("give an absolute path (/usr/bin/python3) or a file below " BIN), "%s: relative %s[0] must start with " BIN, label, key);
        return false;
    }
    Str clean = normalized(l->docs.arena, *program);
    if (!str_starts(clean, STR(BIN))) {
        loader_error(l, at, key, "%s: %s[0] escapes ./tools/bin after normalization (got \"" STR_FMT "\" -> \"" STR_FMT "\")", label, key,
                     STR_ARG(*program), STR_ARG(clean));
        return false;
    }
    *program = clean;
    return true;
}

/* A list of the wrong type was reported already; `argv` is then empty. */
bool load_program_argv(Loader *l, const LoaderPlace *at, const char *key, const char *label, StrList *argv) {
    Value given = value_member(at->map, key);
    if (value_is_gone(given) || value_is_none(given) || (value_is_list(given) && value_list(given)->n == 0)) {
        loader_error(l, at, key, "%s: %s must have at least program name", label, key);
        return false;
    }
    bool ok = true;
    for (size_t i = 0; i < argv->n; i++) {
        if (!memchr(argv->at[i].at, 0, argv->at[i].n)) continue;
        loader_error(l, at, key, "%s: %s[%zu] must not contain NUL", label, key, i);
        ok = false;
    }
    return argv->n && check_program(l, at, key, label, &argv->at[0]) && ok;
}

void load_program_protect(Loader *l, Str folder, Str program) {
    if (str_starts(program, STR("/"))) return;
    Str inside = str_sub(program, 2, program.n);
    bool top = str_eq(folder, STR("."));
    loader_look_at(l, top ? inside : str_from(arena_fmt(l->docs.arena, STR_FMT "/" STR_FMT, STR_ARG(folder), STR_ARG(inside))));
}
