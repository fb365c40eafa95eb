/* The tools write and edit: replace whole files atomically. */
#include <stdio.h>
#include "base/diff.h"
#include "base/digest.h"
#include "base/sha256.h"
#include "tool/builtin/builtin.h"
#include "tool/builtin/edit_text.h"
#include "tool/pipeline/pipe.h"

enum { SHOWN_MAX = 1 << 20, HEAD = 4096, DIFF_MAX = 64 << 10 };

/* A file's current and new state. */
typedef struct Change {
    Arena arena;
    JailPlace place;
    JailStat before;                     /* if it exists */
    bool fresh;                          /* read or written in this session, and unchanged since */
    Buf old;                             /* its current text, if needed */
    Buf made;                            /* result of an edit */
    Str text;                            /* the new content: the argument, or `made` */
    size_t count;                        /* number of replacements of an edit */
    RunChange change;                    /* what the call changed, for /undo */
    Buf key, note;                       /* the artifact with the old content, and the change as JSON */
} Change;

static void change_clear(Change *c) {
    buf_clear(&c->old);
    buf_clear(&c->made);
    buf_clear(&c->key);
    buf_clear(&c->note);
    arena_clear(&c->arena);
}

static Str path_of(const ToolCallFrame *f) { return builtin_arg_text(f, "path", STR("")); }
static bool is_edit(const ToolCallFrame *f) { return !value_is_gone(builtin_arg(f, "old_string")); }

static bool same_file(const JailStat *a, const JailStat *b) {
    return a->size == b->size && a->modified_ns == b->modified_ns && a->inode == b->inode && a->device == b->device;
}

static bool check_size(Str path, Str text, Error *err) {
    return text.n <= JAIL_FILE_MAX || error_set(err, ERR_LIMIT, STR_FMT ": the new content is larger than %d bytes", STR_ARG(path), JAIL_FILE_MAX);
}

/* A file must have been read completely before it is replaced. */
static bool prepare_write(ToolCallFrame *f, Change *c, bool show, Error *err) {
    Str path = path_of(f);
    JailStat seen;
    c->text = builtin_arg_text(f, "content", STR(""));
    if (!check_size(path, c->text, err)) return false;
    if (!c->place.exists) return true;
    if (!jail_stat(f->host->jail, path, &c->before, err)) return false;
    if (!run_read_get(f->run, c->place.absolute, &seen))
        return error_set(err, ERR_VALIDATION, STR_FMT ": the file exists and has not been read in this session: read it first, or use edit", STR_ARG(path));
    if (!same_file(&seen, &c->before))
        return error_set(err, ERR_VALIDATION, STR_FMT ": the file has changed since it was read: read it again", STR_ARG(path));
    return c->fresh = true, !show || jail_read(f->host->jail, path, JAIL_FILE_MAX, &c->old, NULL, err);
}

static bool prepare_edit(ToolCallFrame *f, Change *c, Error *err) {
    Str path = path_of(f);
    JailStat seen;
    EditText how = { .old_string = builtin_arg_text(f, "old_string", STR("")), .new_string = builtin_arg_text(f, "new_string", STR("")),
                     .replace_all = builtin_arg_flag(f, "replace_all") };
    if (!jail_read(f->host->jail, path, JAIL_FILE_MAX, &c->old, &c->before, err)) return false;
    if (!edit_text_replace(buf_str(&c->old), &how, &c->made, &c->count, err)) return error_wrap(err, STR_FMT, STR_ARG(path));
    c->text = buf_str(&c->made);
    c->fresh = run_read_get(f->run, c->place.absolute, &seen) && same_file(&seen, &c->before);
    return check_size(path, c->text, err);
}

static bool find_place(ToolCallFrame *f, Change *c, Error *err) {
    return jail_place(f->host->jail, path_of(f), !is_edit(f), &c->arena, &c->place, err);
}

static bool prepare(ToolCallFrame *f, Change *c, bool show, Error *err) {
    if (!jail_may_write(f->host->jail, path_of(f), err)) return false;
    return is_edit(f) ? prepare_edit(f, c, err) : prepare_write(f, c, show, err);
}

/* ---- confirmation ---- */

static void show_change(const ToolCallFrame *f, Change *c, Buf *out) {
    Str name = builtin_name(f, c->place.absolute);
    const char *path = arena_str(&c->arena, name).at;
    if (c->old.n + c->text.n <= SHOWN_MAX) {
        diff_unified(buf_str(&c->old), c->text, &(DiffStyle){ .from = c->place.exists ? path : "/dev/null", .to = path, .context = 3 }, out);
        if (out->n == 0) buf_add_fmt(out, "%s: no change", path);
        return;
    }
    buf_add_fmt(out, "%s: %zu bytes become %zu, too many to compare. The new content begins:\n", path, c->old.n, c->text.n);
    buf_add(out, str_sub(c->text, 0, HEAD));
}

static bool inspect_change(ToolCallFrame *f, ToolInspection *out, Error *err) {
    Change c = { 0 };
    bool ok = find_place(f, &c, err), sensitive = ok && approval_sensitive(c.place.path);
    bool brief = ok && !sensitive && approval_brief(c.place.path);
    if (sensitive || brief)
        snprintf(out->why, sizeof out->why, "%s: " STR_FMT, brief ? "part of the system prompt" : "sensitive name", STR_ARG(builtin_name(f, c.place.absolute)));
    if (ok && out->judged) {
        ok = jail_may_write(f->host->jail, path_of(f), err);
    } else if (ok && (sensitive || brief || out->asked)) {
        ok = prepare(f, &c, true, err);
        buf_add(&out->path, c.place.absolute);
        if (ok) show_change(f, &c, &out->shown);
    }
    change_clear(&c);
    return ok;
}

/* Links may have changed since the check or the confirmation. */
static bool still_agreed(const ToolCallFrame *f, const Change *c, Error *err) {
    const Pipe *p = f->host->call;
    Str judged = buf_str(&p->kept.seen.path);
    if (judged.n ? str_eq(judged, c->place.absolute) : !approval_sensitive(c->place.path) && !approval_brief(c->place.path)) return true;
    return error_set(err, ERR_POLICY, STR_FMT ": now refers to another file", STR_ARG(path_of(f)));
}

/* ---- writing ---- */

static bool give_value(ToolCallFrame *f, const Change *c, Error *err) {
    Heap *h = f->heap;
    Dict *d = dict_new(h, 3, err);
    if (!d || !builtin_put_text(h, d, "path", builtin_name(f, c->place.absolute), err)) return false;
    f->value = value_from_object(d);
    if (is_edit(f)) return dict_put_str(h, d, STR("replacements"), value_from_small((int64_t)c->count), err);
    return dict_put_str(h, d, STR("created"), value_from_bool(!c->place.exists), err) &&
           dict_put_str(h, d, STR("bytes"), value_from_small((int64_t)c->text.n), err);
}

static Str whole_lines(Str text, size_t most) {
    if (text.n <= most) return text;
    while (most > 0 && text.at[most - 1] != '\n') most--;
    return str_sub(text, 0, most);
}

static void put_hash(Buf *out, const char *key, const uint8_t hash[CHANGE_HASH]) {
    Buf text = { 0 };
    digest_hex(hash, CHANGE_HASH, &text);
    event_data_str(out, key, buf_str(&text));
    buf_clear(&text);
}

/* For /undo: keeps the old content, and notes in the store what is about to change, so that a crash during the write loses nothing. A file with a
 * sensitive name is neither kept nor hashed. `c->note`: the members of the event and the note. */
static bool keep_change(ToolCallFrame *f, Change *c, Error *err) {
    RunChange *change = &c->change;
    *change = (RunChange){ .file = c->place.absolute, .created = !c->place.exists };
    if (f->run->config.served) return true;
    change->kept = !approval_sensitive(c->place.path) && (change->created || run_change_keep(f->run, f->entry->def.name, buf_str(&c->old), &c->key));
    event_data_start(&c->note);
    event_data_str(&c->note, "file", change->file);
    if (change->kept) {
        change->before = buf_str(&c->key);
        sha256_of(c->text, change->new_hash);
        if (!change->created) sha256_of(buf_str(&c->old), change->old_hash);
        if (!change->created) event_data_str(&c->note, "before", change->before);
        if (!change->created) put_hash(&c->note, "old_sha256", change->old_hash);
        put_hash(&c->note, "new_sha256", change->new_hash);
    }
    event_data_end(&c->note);
    return run_change_intend(f->run, f->call_id, buf_str(&c->note), err);
}

/* For the event: {path, diff, file, before, old_sha256, new_sha256}. `before` is the artifact that holds the old content. */
static void note_change(ToolCallFrame *f, Change *c) {
    Pipe *p = f->host->call;
    Buf diff = { 0 };
    show_change(f, c, &diff);
    buf_reset(&p->kept.change);
    event_data_start(&p->kept.change);
    event_data_str(&p->kept.change, "path", builtin_name(f, c->place.absolute));
    event_data_str(&p->kept.change, "diff", whole_lines(buf_str(&diff), DIFF_MAX));
    if (c->note.n) {
        buf_add_char(&p->kept.change, ',');
        buf_add(&p->kept.change, str_sub(buf_str(&c->note), 1, c->note.n));      /* with its brace */
        run_change_put(f->run, &c->change);
    } else {
        event_data_end(&p->kept.change);
    }
    buf_clear(&diff);
}

static bool run_change(ToolCallFrame *f, Error *err) {
    Change c = { 0 };
    JailStat now;
    bool noted = pipe_listened(f->host->call) || f->run->config.conversation;
    bool ok = find_place(f, &c, err) && still_agreed(f, &c, err) && prepare(f, &c, noted, err) && cancel_check(f->cancel, err)
           && (!noted || keep_change(f, &c, err));
    if (ok) {
        JailWrite how = { .parents = true, .must_be_new = !c.place.exists, .expect = c.place.exists ? &c.before : NULL, .cancel = f->cancel };
        ok = jail_write(f->host->jail, path_of(f), c.text, &how, &now, err);
        /* An edit of a file that was never read does not count as a read of the rest. */
        if (ok && (c.fresh || !c.place.exists)) run_read_put(f->run, c.place.absolute, &now);
    }
    if (ok && noted) note_change(f, &c);
    ok = ok && give_value(f, &c, err);
    change_clear(&c);
    return builtin_end(f, ok, err);
}

const BuiltinDef builtin_write[] = {
    { .name = "write", .title = "Write a file",
      .description = "Writes a whole file atomically; missing folders are created. A file that exists must have been read in this session and be "
                     "unchanged since. Prefer edit for changing a part of a file.",
      .parameters = "{\"type\":\"object\",\"properties\":{"
                    "\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The file, relative to the workspace.\"},"
                    "\"content\":{\"type\":\"string\",\"description\":\"All of the new content.\"}},"
                    "\"required\":[\"path\",\"content\"],\"additionalProperties\":false}",
      .timeout_ms = 10000, .execute = run_change, .inspect = inspect_change },
    { .name = "edit", .title = "Edit a file",
      .description = "Replaces a text in a file, exactly, white space included. The text must occur once, unless replace_all is true: give enough lines around "
                     "it. Line numbers that read shows are not part of the file.",
      .parameters = "{\"type\":\"object\",\"properties\":{"
                    "\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The file, relative to the workspace.\"},"
                    "\"old_string\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The text to replace, exactly as in the file.\"},"
                    "\"new_string\":{\"type\":\"string\",\"description\":\"The replacement.\"},"
                    "\"replace_all\":{\"type\":\"boolean\",\"default\":false,\"description\":\"Replace every occurrence.\"}},"
                    "\"required\":[\"path\",\"old_string\",\"new_string\"],\"additionalProperties\":false}",
      .timeout_ms = 10000, .execute = run_change, .inspect = inspect_change },
    { 0 },
};
