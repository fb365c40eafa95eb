/* Starlark tools: run(args) in the call's own VM. */
#include "script/content.h"
#include "tool/pipeline/pipe.h"
#include "value/json.h"
#include "value/list.h"

/* A value that is one typed block, or a list of only typed blocks, becomes the content. */
static bool take_content(ToolCallFrame *f, Value v, Error *err) {
    if (!content_is_blocks(v)) return true;
    List *l = value_is_list(v)    ? value_list(v)
              : value_is_tuple(v) ? list_from(f->heap, value_tuple(v)->at, value_tuple(v)->n, err)
                                  : list_from(f->heap, &v, 1, err);
    if (l) f->content = value_from_object(l);
    return l != NULL;
}

/* Keeps the JSON that was written for the check, for reuse in the result. */
static bool has_json_form(ToolCallFrame *f, Value v, Error *err) {
    Pipe *p = f->host->call;
    MEM_UNSET Error why;
    error_none(&why);
    if (!value_is_object(v) || value_is_string(v)) return true;
    buf_reset(&p->kept.text);
    if (json_write(&p->kept.text, v, &(JsonWrite){ .cancel = f->cancel }, &why)) return p->text_of = v, true;
    if (why.kind == ERR_CANCELLED || why.kind == ERR_TIMEOUT) return *err = why, false;
    return error_set(err, ERR_SCRIPT, "run returned a value that has no JSON form: %s", why.msg);
}

bool kind_starlark(ToolCallFrame *f, Error *err) {
    Value out = VALUE_NONE;
    f->host->runtime = f->injected;
    f->host->child_env = kind_protected_env(&f->entry->def);
    if (!value_is_gone(f->injected)) vm_set_call_value(f->worker->vm, f->injected);
    if (!module_call(f->worker->vm, f->entry->def.script, STR("run"), &f->args, 1, &out, err)) {
        Pipe *p = f->host->call;
        Buf trace = { 0 };
        if (pipe_traced(p)) {
            vm_format_failure(f->worker->vm, err, &trace);
            pipe_trace(p, STEP_TRACEBACK, STR_FMT, STR_ARG(buf_str(&trace)));
        }
        buf_clear(&trace);
        return false;
    }
    if (!has_json_form(f, out, err)) return false;
    f->value = out;
    return take_content(f, out, err);
}

bool kind_missing(ToolCallFrame *f, Error *err) {
    return error_set(err, ERR_CONFIG, "tool \"" STR_FMT "\" has no implementation", STR_ARG(f->entry->def.name));
}
