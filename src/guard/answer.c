/* Spells a verdict for the vendor: answers.def is the only source of bytes for standard output. */
#include "base/utf8.h"
#include "guard/guard.h"
#include "value/json.h"

typedef enum Form { FORM_PASS, FORM_ALLOW, FORM_ASK, FORM_DENY, FORM_CHANGE, FORM_CHANGE_ALLOW } Form;
typedef struct AnswerRow { Vendor vendor; GuardEvent event; Form form; int status; const char *text; } AnswerRow;
static const AnswerRow rows[] = {
#define GUARD_ANSWER(vendor, event, form, status, text) { VENDOR_##vendor, GUARD_EVENT_##event, FORM_##form, status, text },
#include "guard/answers.def"
#undef GUARD_ANSWER
};

enum { REFUSED = 2 };                    /* the exit status that every vendor reads as a refusal */

const char *guard_verdict_name(GuardVerdict v) { return v == GUARD_DENY ? "deny" : v == GUARD_ASK ? "ask" : "allow"; }

/* Copilot also runs hooks in Claude's form, and reads the answers of VS Code there. */
static Vendor dialect(const GuardEnvelope *e) { return e->vendor == VENDOR_COPILOT && !e->camel ? VENDOR_VSCODE : e->vendor; }

/* An unknown event is refused in the format of a tool call. */
static GuardEvent shape(GuardEvent e) { return e == GUARD_EVENT_UNKNOWN ? GUARD_EVENT_CALL : e; }

static const AnswerRow *find(const GuardEnvelope *e, Form form) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].vendor == dialect(e) && rows[i].event == shape(e->event) && rows[i].form == form) return &rows[i];
    return NULL;
}

/* ---- reasons ---- */

void guard_reason_clean(Str reason, Buf *out) {
    enum { CHARACTER_MAX = 4, MORE = 3 };
    size_t from = out->n;
    for (size_t i = 0; i < reason.n && out->n - from + CHARACTER_MAX + MORE <= GUARD_REASON_MAX;) {
        size_t n;
        uint32_t c = utf8_decode(str_sub(reason, i, reason.n), &n);
        if (c < 0x20 || c == 0x7f) c = ' ';
        else if (utf8_is_deceptive(c)) c = 0xfffd;
        buf_add_utf8(out, c);
        i += n;
        if (i < reason.n && out->n - from + CHARACTER_MAX + MORE > GUARD_REASON_MAX) buf_add(out, STR("..."));
    }
    while (out->n > from && out->at[out->n - 1] == ' ') out->n--;
    if (out->n == from) buf_add(out, STR("refused by harness guard"));
    out->at[out->n] = 0;
}

/* ---- bytes ---- */

static bool fill(const AnswerRow *row, const GuardEnvelope *e, Str reason, Value changed, Buf *out) {
    for (const char *at = row->text; *at; at++) {
        if (*at != '$') {
            buf_add_char(out, *at);
            continue;
        }
        at++;
        if (*at == 'R') json_write_string(out, reason, false);
        else if (*at == 'E') json_write_string(out, e->event_name, false);
        else if (!json_write(out, changed, &(JsonWrite){ 0 }, NULL)) return false;
    }
    if (out->n) buf_add_char(out, '\n');
    return true;
}

bool guard_answer_asks(const GuardEnvelope *e) { return !e->mismatch && e->attended && find(e, FORM_ASK); }

static GuardVerdict refuse(const GuardEnvelope *e, Str reason, GuardAnswer *out) {
    const AnswerRow *row = e->mismatch ? NULL : find(e, FORM_DENY);
    buf_reset(&out->out);
    out->status = REFUSED;
    if (row && fill(row, e, reason, VALUE_GONE, &out->out)) out->status = row->status;
    buf_add(&out->err, STR("harness guard: "));
    buf_add(&out->err, reason);
    buf_add_char(&out->err, '\n');
    return GUARD_DENY;
}

/* The row for changed input. If the vendor's form also allows the call, it is used only for an explicit allow, or if the agent never asks. */
static const AnswerRow *change_row(const GuardEnvelope *e, GuardVerdict v) {
    const AnswerRow *with_allow = find(e, FORM_CHANGE_ALLOW);
    if (!with_allow) return v == GUARD_ASK ? NULL : find(e, FORM_CHANGE);
    if (v == GUARD_ALLOW || (v == GUARD_PASS && str_eq(e->mode, STR("bypassPermissions")))) return with_allow;
    return e->attended ? find(e, FORM_CHANGE) : NULL;
}

static const AnswerRow *row_of(const GuardEnvelope *e, GuardVerdict v, Value changed) {
    if (!value_is_gone(changed)) return change_row(e, v);
    if (v == GUARD_ASK) return e->attended ? find(e, FORM_ASK) : NULL;
    const AnswerRow *row = v == GUARD_ALLOW ? find(e, FORM_ALLOW) : NULL;
    return row ? row : find(e, FORM_PASS);
}

static GuardVerdict refuse_instead(const GuardEnvelope *e, GuardVerdict v, Str reason, GuardAnswer *out) {
    Buf why = { 0 }, clean = { 0 };
    buf_add(&why, v == GUARD_ASK ? STR("the user must be asked, which is not possible here: ") : STR("changed input is not possible here: "));
    buf_add(&why, reason);
    guard_reason_clean(buf_str(&why), &clean);
    refuse(e, buf_str(&clean), out);
    buf_clear(&why);
    buf_clear(&clean);
    return GUARD_DENY;
}

GuardVerdict guard_answer(const GuardEnvelope *e, GuardVerdict v, Str reason, Value changed, GuardAnswer *out) {
    Buf clean = { 0 };
    *out = (GuardAnswer){ 0 };
    guard_reason_clean(reason, &clean);
    bool quiet = v < GUARD_ASK && value_is_gone(changed);
    const AnswerRow *row = e->mismatch || v == GUARD_DENY ? NULL : row_of(e, v, changed);
    if (v == GUARD_DENY) refuse(e, buf_str(&clean), out);
    else if (!row && !quiet) v = refuse_instead(e, v, buf_str(&clean), out);
    else if (row && !fill(row, e, buf_str(&clean), changed, &out->out)) v = refuse(e, buf_str(&clean), out);
    else out->status = row ? row->status : 0;
    buf_clear(&clean);
    return v;
}

void guard_answer_clear(GuardAnswer *a) {
    buf_clear(&a->out);
    buf_clear(&a->err);
}
