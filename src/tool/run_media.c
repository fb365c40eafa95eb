/* Images and PDFs of a run's messages: the journal names them by their hash, the store holds them. */
#include "base/base64.h"
#include "script/parts.h"
#include "tool/runtime_private.h"

static void scope_of(const Run *r, Buf *out) { buf_add_fmt(out, "media:" STR_FMT, STR_ARG(run_id(r))); }

bool run_media_put(Run *r, const List *media, Error *err) {
    Store *store = run_store(r);
    Redactor *redactor = runtime_redactor(run_runtime(r));
    Buf scope = { 0 };
    bool ok = true;
    scope_of(r, &scope);
    for (uint32_t i = 0; store && ok && i < media->n; i++) {
        Str data = value_member_text(media->at[i], "data");
        if (!redact_empty(redactor) && redact_would(redactor, data)) continue;
        ok = store_note_put(store, buf_str(&scope), value_member_text(media->at[i], "sha256"), data, err);
    }
    buf_clear(&scope);
    return ok;
}

/* part GONE: it is missing or damaged. */
static bool get_one(Store *store, Str scope, Value named, Heap *heap, Value *part, Error *err) {
    Buf data = { 0 }, bytes = { 0 };
    bool found = false;
    *part = VALUE_GONE;
    bool ok = store_note_get(store, scope, value_member_text(named, "sha256"), &data, &found, err);
    if (ok && found && base64_decode(buf_str(&data), &bytes, NULL)
        && !parts_media(heap, buf_str(&bytes), value_member_text(named, "mime"), value_member_text(named, "name"), part, NULL)) *part = VALUE_GONE;
    buf_clear(&data);
    buf_clear(&bytes);
    return ok;
}

bool run_media_get(Run *r, Value named, Heap *heap, List **out, uint32_t *lost, Error *err) {
    Store *store = run_store(r);
    Buf scope = { 0 };
    bool ok = true;
    *out = NULL;
    *lost = 0;
    scope_of(r, &scope);
    for (uint32_t i = 0; ok && value_is_list(named) && i < value_list(named)->n; i++) {
        Value part = VALUE_GONE;
        ok = !store || get_one(store, buf_str(&scope), value_list(named)->at[i], heap, &part, err);
        if (ok && value_is_gone(part)) {
            ++*lost;
            continue;
        }
        if (ok && !*out) ok = (*out = list_new(heap, 2, err)) != NULL;
        ok = ok && list_push(heap, *out, part, err);
    }
    buf_clear(&scope);
    return ok;
}
