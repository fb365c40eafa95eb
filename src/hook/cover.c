/* Which hooks take part in the calls of a tool, before the arguments of a call are known. */
#include "hook/ask.h"
#include "starlark/syntax/lexer.h"

enum { WHEN_MS = 5000 };

typedef struct Tokens { Lexer lexer; Lexeme at[4]; } Tokens;     /* the current token and the three after it */

static bool shift(Tokens *t) {
    Error err;
    for (int i = 0; i < 3; i++) t->at[i] = t->at[i + 1];
    return lexer_next(&t->lexer, &t->at[3], &err);
}

static bool is_name(const Lexeme *l, Str name) { return l->kind == TOKEN_IDENT && str_eq(value_str(l->value), name); }

/* payload["key"] of any key, or payload.get("key" … of a known key. For an unknown key the first raises, but the second returns a value that
 * differs from the one in a real call. `t` is at the token after `payload`. */
static bool reads_exactly(Tokens *t, Value payload) {
    if (t->at[0].kind == TOKEN_LBRACK) return t->at[1].kind == TOKEN_STRING && t->at[2].kind == TOKEN_RBRACK;
    return t->at[0].kind == TOKEN_DOT && is_name(&t->at[1], STR("get")) && t->at[2].kind == TOKEN_LPAREN && t->at[3].kind == TOKEN_STRING &&
           dict_find_str(value_dict(payload), value_str(t->at[3].value));
}

static bool scan(Tokens *t, Value payload) {
    for (int i = 0; i < 4; i++)
        if (!shift(t)) return false;
    while (t->at[0].kind != TOKEN_EOF) {
        bool uses = is_name(&t->at[0], STR("payload"));
        if (!shift(t) || (uses && !reads_exactly(t, payload))) return false;
    }
    return true;
}

/* True if the expression has the same value for this part of the payload as for the whole payload. */
static bool is_exact(Str expression, Value payload) {
    Heap *heap = heap_new(0);
    Dict *names = dict_new(heap, 0, NULL);
    Source source = { .text = str_trim(expression) };
    Tokens t = { 0 };
    Error err;
    bool ok = names && lexer_init(&t.lexer, &source, heap, names, &err) && scan(&t, payload);
    lexer_clear(&t.lexer);
    heap_free(heap);
    return ok;
}

static HookCover cover_of(Hooks *h, const HookDispatch *d, const HookDef *def) {
    if (!def->when) return HOOK_COVERS_ALWAYS;
    if (!is_exact(def->when_text, d->payload)) return HOOK_COVERS_SOMETIMES;
    Cancel *token = cancel_new(d->cancel, (int64_t)WHEN_MS * 1000000);
    Worker *w = worker_take(hook_list_workers(h), NULL, token);
    String *event = string_new(w->heap, str_from(hook_event_name(d->event)), NULL);
    Value args[2], v;
    Error err;
    HookCover cover = HOOK_COVERS_SOMETIMES;                     /* also if it fails: it depends on something that is not known yet */
    if (event && hook_payload_copy(w->heap, d->payload, HOOK_COPY_FOREIGN, &args[0], &err)) {
        value_freeze(args[0]);
        args[1] = value_from_object(event);
        if (module_call_expression(w->vm, def->when, args, 2, &v, &err)) cover = value_truth(v) ? HOOK_COVERS_ALWAYS : HOOK_COVERS_NEVER;
    }
    worker_give(hook_list_workers(h), w);
    cancel_free(token);
    return cover;
}

void hook_covering(Hooks *h, const HookDispatch *d, void (*each)(void *ctx, const HookDef *def, HookCover cover), void *ctx) {
    const HookOrder *o = hook_list_order(h, d->event);
    for (size_t i = 0; o && i < o->n; i++) {
        if (!hook_takes_part(d, o->at[i].def)) continue;
        HookCover cover = cover_of(h, d, o->at[i].def);
        if (cover != HOOK_COVERS_NEVER) each(ctx, o->at[i].def, cover);
    }
}
