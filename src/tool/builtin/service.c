/* Tools for background tasks and artifacts. */
#include "base/utf8.h"
#include "tool/builtin/builtin.h"
#include "tool/task/task.h"

static bool poll_task(ToolCallFrame *f, Error *err) {
    Str id = builtin_arg_text(f, "task_id", STR(""));
    return task_detached(f->run, f->call) ? task_detached_poll(f->run, id, f->heap, &f->value, err) : task_poll(f->run, id, f->heap, &f->value, err);
}

static bool cancel_task(ToolCallFrame *f, Error *err) {
    Str id = builtin_arg_text(f, "task_id", STR(""));
    return task_detached(f->run, f->call) ? task_detached_cancel(f->run, id, f->heap, &f->value, err) : task_cancel(f->run, id, f->heap, &f->value, err);
}

static bool await_task(ToolCallFrame *f, Error *err) {
    Str id = builtin_arg_text(f, "task_id", STR(""));
    int64_t ms = builtin_arg_int(f, "timeout_ms", -1);
    return task_detached(f->run, f->call) ? task_detached_await(f->run, id, ms, f->cancel, f->heap, &f->value, err)
                                       : task_await(f->run, id, ms, f->cancel, f->heap, &f->value, err);
}

/* Leaves a character cut at either end to the neighbouring piece. */
static Str whole_characters(Str s) {
    size_t from = 0;
    while (from < s.n && from < 3 && ((unsigned char)s.at[from] & 0xc0) == 0x80) from++;
    s = str_sub(s, from, s.n);
    size_t valid = utf8_valid_prefix(s);
    return s.n - valid < 4 ? str_sub(s, 0, valid) : s;
}

static bool read_artifact(ToolCallFrame *f, Error *err) {
    int64_t offset = builtin_arg_int(f, "offset", 0), limit = builtin_arg_int(f, "limit", 8192);
    Buf bytes = { 0 };
    uint64_t total = 0;
    Value text;
    Dict *d = dict_new(f->heap, 3, err);
    bool ok = d && run_artifact_get(f->run, builtin_arg_text(f, "key", STR("")), (uint64_t)offset, (uint64_t)limit, &bytes, &total, err) &&
              kind_text_value(f->heap, whole_characters(buf_str(&bytes)), &text, err) && dict_put_str(f->heap, d, STR("text"), text, err) &&
              dict_put_str(f->heap, d, STR("offset"), value_from_small(offset), err) &&
              dict_put_str(f->heap, d, STR("size"), value_from_small((int64_t)total), err);
    buf_clear(&bytes);
    if (ok) f->value = value_from_object(d);
    return ok;
}

#define TASK_ID "\"task_id\":{\"type\":\"string\",\"description\":\"the id returned by the call that started it\"}"

const BuiltinDef builtin_services[] = {
    { .name = "task_poll", .title = "Poll a task", .description = "Reports whether a background task has ended, and its result.",
      .parameters = "{\"type\":\"object\",\"properties\":{" TASK_ID "},\"required\":[\"task_id\"],\"additionalProperties\":false}",
      .execute = poll_task, .service = SERVICE_TASKS },
    { .name = "task_await", .title = "Await a task", .description = "Waits until a background task has ended, and returns its result.",
      .parameters = "{\"type\":\"object\",\"properties\":{" TASK_ID ",\"timeout_ms\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"at most this "
                    "long\"}},\"required\":[\"task_id\"],\"additionalProperties\":false}",
      .execute = await_task, .service = SERVICE_TASKS },
    { .name = "task_cancel", .title = "Cancel a task", .description = "Ends a background task.",
      .parameters = "{\"type\":\"object\",\"properties\":{" TASK_ID "},\"required\":[\"task_id\"],\"additionalProperties\":false}",
      .parallel_safe = true, .execute = cancel_task, .service = SERVICE_TASKS },
    { .name = "artifact_read", .title = "Read an artifact", .description = "Reads a part of a large result of this run by its key.",
      .parameters = "{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"},\"offset\":{\"type\":\"integer\",\"minimum\":0,\"default\":0},"
                    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":16000,\"default\":8192}},\"required\":[\"key\"],"
                    "\"additionalProperties\":false}",
      .execute = read_artifact, .service = SERVICE_ARTIFACTS },
    { 0 },
};
