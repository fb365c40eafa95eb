/* Templates: a subset of Handlebars, for text and for shell commands.
 *
 *   {{x}} {{a.b}} {{a.[b c]}} {{this}} {{../x}} {{@root.x}}      values
 *   {{#if x}}…{{else if y}}…{{else}}…{{/if}}  {{#unless x}}…{{/unless}}
 *   {{#each x}}…{{this}} {{@index}} {{@key}} {{@first}} {{@last}}…{{else}}…{{/each}}  {{#with x}}…{{/with}}
 *   {{{x}}} {{&x}} raw   {{! note }} {{!-- note --}}   {{~x~}} trims   \{{ a literal {{
 *
 * White space, truth, missing values and lookups are those of Handlebars 4. Nothing is escaped for HTML. What is
 * not listed (partials, helpers with arguments, literals, block parameters) is an error at compile time.
 *
 * A template is compiled once and is immutable then: any number of threads may render it. */
#pragma once
#include "value/value.h"

typedef struct Template Template;

enum {
    TEMPLATE_DEPTH_MAX = 100,           /* blocks inside blocks, else-ifs included */
    TEMPLATE_TEXT_MAX = 2 << 20,        /* bytes of a template */
    TEMPLATE_OUTPUT_MAX = 16 << 20,     /* bytes of output, unless the options say otherwise */
    TEMPLATE_STEPS_MAX = 10000000,      /* values, texts and iterations of one rendering */
};

typedef struct TemplateOptions {        /* the zero value is the default */
    size_t max_output;                  /* bytes; 0: TEMPLATE_OUTPUT_MAX */
} TemplateOptions;

/* Copies the text. Fails with ERR_PARSE or ERR_LIMIT, with line and column. `options` may be NULL. */
bool template_compile(Str text, const TemplateOptions *options, Template **out, Error *err);
void template_free(Template *t);        /* NULL is fine */

/* Appends to `out`; on failure (ERR_LIMIT, ERR_VALIDATION for what has no text form) `out` is as long as before. */
bool template_render(const Template *t, Value context, Buf *out, Error *err);

/* ---- commands ---- */

/* What a command's template must know about a parameter. */
typedef struct TemplateParam {
    Str name;
    bool required;                      /* calls without it are refused before they get here */
    bool array, object;                 /* its type is one of these */
    bool constrained;                   /* it has an enum or a pattern: the values that start with '-' are its author's choice */
    Value fallback;                     /* its default; VALUE_GONE when it has none. Must outlive the template, as frozen values do */
} TemplateParam;

typedef struct TemplateCommand {
    const TemplateParam *params;        /* copied, names too */
    size_t n_params;
    bool unsafe_raw;                    /* {{{x}}} puts a value into the command as it is */
    size_t max_output;                  /* bytes; 0: TEMPLATE_OUTPUT_MAX */
} TemplateCommand;

/* Compiles a command for /bin/sh or bash. Each {{x}} is quoted for the place where it stands, so that a string is
 * always exactly its bytes inside exactly one argument. Places where no quoting can promise that are refused here, with
 * ERR_CONFIG, line, column, and in the hint what to write instead (docs/internals/templates.md lists them all). */
bool template_compile_command(Str text, const TemplateCommand *command, Template **out, Error *err);

/* `args` is a dict of arguments, already checked against the parameters' schema. Refuses with ERR_VALIDATION, naming the
 * parameter: NUL or invalid UTF-8 in a string, an object, an array where one word belongs, a required value that is
 * missing, and a string that begins a word with '-' where it could become an option. */
bool template_render_command(const Template *t, Value args, Buf *out, Error *err);

/* Calls `each` for every path of a text template that leads to none of `known` (NULL at the end): names joined by '.', "[]" for
 * the items of a list, ".*" for members that may be called anything. Line and column are those of the template's text. */
typedef void TemplatePathReport(void *ctx, Str path, uint32_t line, uint32_t column);
void template_unknown_paths(const Template *t, const char *const *known, TemplatePathReport *each, void *ctx);

Str template_text(const Template *t);       /* as it was given */
bool template_has_raw(const Template *t);   /* has {{{x}}} or {{&x}} */
