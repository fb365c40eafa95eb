/* Templates: a subset of Handlebars, for text and for shell commands.
 *
 *   {{x}} {{a.b}} {{a.[b c]}} {{this}} {{../x}} {{@root.x}}      values
 *   {{#if x}}…{{else if y}}…{{else}}…{{/if}}  {{#unless x}}…{{/unless}}
 *   {{#each x}}…{{this}} {{@index}} {{@key}} {{@first}} {{@last}}…{{else}}…{{/each}}  {{#with x}}…{{/with}}
 *   {{{x}}} {{&x}} raw   {{! note }} {{!-- note --}}   {{~x~}} trims   \{{ a literal {{
 *
 * White space, truth, missing values and lookups follow Handlebars 4. Nothing is escaped for HTML. Anything not
 * listed (partials, helpers with arguments, literals, block parameters) is an error at compile time.
 *
 * A compiled template is immutable: any number of threads may render it. */
#pragma once
#include "value/value.h"

typedef struct Template Template;

enum {
    TEMPLATE_DEPTH_MAX = 100,           /* nested blocks, including else-ifs */
    TEMPLATE_TEXT_MAX = 2 << 20,        /* bytes of a template */
    TEMPLATE_OUTPUT_MAX = 16 << 20,     /* bytes of output, unless the options set another limit */
    TEMPLATE_STEPS_MAX = 10000000,      /* values, texts and iterations of one rendering */
};

typedef struct TemplateOptions {        /* the zero value is the default */
    size_t max_output;                  /* bytes; 0: TEMPLATE_OUTPUT_MAX */
} TemplateOptions;

/* Copies the text. Fails with ERR_PARSE or ERR_LIMIT, with line and column. `options` may be NULL. */
bool template_compile(Str text, const TemplateOptions *options, Template **out, Error *err);
void template_free(Template *t);        /* accepts NULL */

/* Appends to `out`. On failure (ERR_LIMIT, or ERR_VALIDATION for a value without a text form) truncates `out` to
 * its previous length. */
bool template_render(const Template *t, Value context, Buf *out, Error *err);

/* ---- commands ---- */

/* A parameter as the command compiler sees it. */
typedef struct TemplateParam {
    Str name;
    bool required;                      /* callers have rejected calls without it */
    bool array, object;                 /* its type */
    bool constrained;                   /* has an enum or a pattern: the author has allowed any values that start with '-' */
    Value fallback;                     /* its default, or VALUE_GONE. Must outlive the template, as frozen values do */
} TemplateParam;

typedef struct TemplateCommand {
    const TemplateParam *params;        /* copied, including names */
    size_t n_params;
    bool unsafe_raw;                    /* {{{x}}} inserts a value unquoted */
    size_t max_output;                  /* bytes; 0: TEMPLATE_OUTPUT_MAX */
} TemplateCommand;

/* Compiles a command for /bin/sh or bash. Quotes each {{x}} for its context, so that a string is always exactly its
 * bytes inside exactly one argument. Rejects contexts where no quoting can guarantee that, with ERR_CONFIG, line,
 * column, and a hint what to write instead (docs/internals/templates.md lists them all). */
bool template_compile_command(Str text, const TemplateCommand *command, Template **out, Error *err);

/* `args` is a dict of arguments, already validated against the parameters' schema. Fails with ERR_VALIDATION, naming
 * the parameter, on: NUL or invalid UTF-8 in a string, an object, an array where one word is expected, a missing
 * required value, and a string that begins a word with '-' where it could become an option. */
bool template_render_command(const Template *t, Value args, Buf *out, Error *err);

/* Calls `each` for every path of a text template that matches none of `known` (NULL-terminated): names joined by '.',
 * "[]" for the items of a list, ".*" for members of any name. Line and column refer to the template's text. */
typedef void TemplatePathReport(void *ctx, Str path, uint32_t line, uint32_t column);
void template_unknown_paths(const Template *t, const char *const *known, TemplatePathReport *each, void *ctx);

/* The command as shell text in which each value is a variable, quoted as the value would be. `way` chooses between alternatives: 0 the
 * text of {{#if}}, 1 that of its {{else}}, n that of the n-th one of a chain. False: there is no alternative with this number. */
bool template_shell_text(const Template *t, unsigned way, Buf *out);

Str template_text(const Template *t);       /* the source text */
bool template_has_raw(const Template *t);   /* has {{{x}}} or {{&x}} */

/* False: a loader, shell or interpreter reads this variable, so that its value can choose what runs. */
bool template_variable_is_safe(Str name);
