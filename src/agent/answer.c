/* An agent's output_schema: its final answer must be JSON that matches it, or the turn fails. */
#include <stdio.h>
#include "agent/frame.h"
#include "schema/schema.h"
#include "value/json.h"

enum { REPAIRS_MAX = 1, PROBLEM_MAX = 400 };

/* Models often fence JSON: returns the text between the first line and the last ```. */
static Str without_fence(Str text) {
    text = str_trim(text);
    if (!str_starts(text, STR("```")) || !str_ends(text, STR("```"))) return text;
    ptrdiff_t line = str_find_char(text, '\n');
    if (line < 0 || (size_t)line + 3 >= text.n) return text;
    return str_trim(str_sub(text, (size_t)line + 1, text.n - 3));
}

static void add_problems(const Schema *schema, Value v, Buf *out) {
    SchemaProblems all = { 0 };
    schema_validate(schema, v, &all);
    for (size_t i = 0; i < all.n && out->n < PROBLEM_MAX; i++)
        buf_add_fmt(out, "%s" STR_FMT "%s" STR_FMT, i ? "; " : "", STR_ARG(all.at[i].path), all.at[i].path.n ? ": " : "", STR_ARG(all.at[i].message));
    schema_problems_clear(&all);
}

/* False: `problem` says what is wrong. */
static bool fits(const Schema *schema, Str text, Buf *problem) {
    Heap *heap = heap_new((size_t)64 << 20);
    Value v;
    Error err = { 0 };
    bool ok = json_read(heap, text, NULL, &v, &err);
    if (!ok) {
        buf_add(problem, str_from(err.msg));
    } else {
        ok = schema_validate(schema, v, NULL);
        if (!ok) add_problems(schema, v, problem);
    }
    heap_free(heap);
    return ok;
}

bool frame_check_output(Frame *f, SessionReply *out, bool *more, Error *err) {
    if (!f->def || !f->def->output || out->status) return true;
    Str text = without_fence(buf_str(&out->text));
    Buf problem = { 0 }, words = { 0 };
    bool ok = true;
    if (fits(f->def->output, text, &problem)) {
        buf_add(&words, text);
        buf_reset(&out->text);
        buf_add(&out->text, buf_str(&words));
    } else if (f->repairs < REPAIRS_MAX) {
        f->repairs++;
        *more = true;
        buf_add_fmt(&words, "Your answer must be JSON that fits the output schema, and nothing else. It does not: " STR_FMT, STR_ARG(buf_str(&problem)));
        ok = frame_say(f, ROLE_USER, buf_str(&words), err);
    } else {
        out->status = RUN_FAILED;
        snprintf(out->reason, sizeof out->reason, "the answer does not fit output_schema: " STR_FMT, STR_ARG(str_sub(buf_str(&problem), 0, PROBLEM_MAX)));
    }
    buf_clear(&problem);
    buf_clear(&words);
    return ok;
}
