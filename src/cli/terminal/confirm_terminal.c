#include "cli/terminal/confirm_terminal.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "cli/terminal/answer.h"
#include "cli/terminal/bridge_terminal.h"
#include "cli/terminal/keys.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/width.h"
#include "cli/terminal/wrap.h"
#include "value/int.h"
#include "value/json.h"
#include "value/list.h"

struct Terminal { const Cli *cli; int fd; };

enum { SHOWN_LINES = 200 };

Terminal *confirm_terminal_open(const Cli *cli) {
    if (!isatty(STDERR_FILENO)) return NULL;
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return NULL;
    Terminal *t = mem_zero(1, sizeof *t);
    *t = (Terminal){ .cli = cli, .fd = fd };
    return t;
}

static void say(Terminal *t, Str s) {
    (void)cli_write(t->fd, s, true);
}

/* Holds the screen for a question: other output waits until it is answered. Discards keys typed before, which are not meant as the answer.
 * False: `cancel` fired while another question was open. */
static bool start_question(Terminal *t, Cancel *cancel) {
    if (!screen_hold(cancel)) return false;
    if (!keys_open(t->fd, false)) {                      /* the terminal is gone */
        screen_release();
        return false;
    }
    keys_ask(t->fd);
    return true;
}

static void end_question(void) {
    keys_answered();
    keys_close(false);
    screen_release();
}

void confirm_terminal_close(Terminal *t) {
    if (!t) return;
    screen_live_end();
    close(t->fd);
    free(t);
}

/* Shows `text`, broken at words and without its last newline, and reads one line. */
static bool ask_line(Terminal *t, Str text, Cancel *cancel, Buf *out) {
    Buf shown = { 0 };
    buf_reset(out);
    size_t columns = width_if_known(t->fd);
    if (columns) wrap_lines(&shown, text, 0, columns);
    else buf_add(&shown, text);
    while (shown.n && (shown.at[shown.n - 1] == '\n' || shown.at[shown.n - 1] == ' ')) shown.n--;
    buf_add_char(&shown, ' ');
    say(t, buf_str(&shown));
    buf_clear(&shown);
    bool answered = answer_read(t->fd, cancel, out);
    if (!answered) say(t, STR("\n"));
    return answered;
}

void confirm_terminal_say(Terminal *t, Str text) {
    screen_live_end();
    say(t, text);
}

bool confirm_terminal_question(Terminal *t, Str text, Cancel *cancel, Buf *answer) {
    Cancel *own = cancel ? NULL : cancel_new(NULL, 0);
    bool answered = false;
    if (start_question(t, cancel)) {
        answered = ask_line(t, text, cancel ? cancel : own, answer);
        end_question();
    }
    cancel_free(own);
    return answered;
}

/* ---- confirmation ---- */

/* Shows the start and the end of a long text, or all of it. Returns how many lines are missing: the question mentions it. */
static size_t add_indented(const Terminal *t, Buf *out, Str text, bool all) {
    size_t lines = 0, at = 0, columns = width_of_terminal(t->fd);
    for (Str rest = text, line; str_next_line(&rest, &line);) lines++;
    size_t missing = !all && lines > SHOWN_LINES ? lines - SHOWN_LINES : 0;
    for (Str line; str_next_line(&text, &line); at++) {
        if (missing && at == SHOWN_LINES / 2) buf_add_fmt(out, "… %zu lines are not shown …\n", missing);
        if (!missing || at < SHOWN_LINES / 2 || at >= SHOWN_LINES / 2 + missing) wrap_lines(out, line, 2, columns);
    }
    return missing;
}

static bool says(Str answer, const char *word) {
    return answer.n && strncmp(word, answer.at, answer.n) == 0 && answer.n <= strlen(word);
}

/* One letter or the word, in either case. False: none of the answers that are offered. */
static bool understand(const ConfirmQuestion *q, Str said, ConfirmAnswer *out) {
    const struct { const char *word; ConfirmAnswer answer; bool offered; } words[] = {
        { "yes", CONFIRM_ONCE, true },       { "args", CONFIRM_THESE, true },     { "always", CONFIRM_THESE, true },
        { "tool", CONFIRM_TOOL, q->may_tool }, { "project", CONFIRM_ALWAYS, q->may_always }, { "no", CONFIRM_NO, true },
    };
    char lower[16] = "";
    if (said.n == 0 || said.n >= sizeof lower) return false;
    for (size_t i = 0; i < said.n; i++) lower[i] = (char)(said.at[i] >= 'A' && said.at[i] <= 'Z' ? said.at[i] + 32 : said.at[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].offered && says((Str){ lower, said.n }, words[i].word)) return *out = words[i].answer, true;
    return false;
}

/* Puts as many side by side as fit into the width of the terminal. */
static void add_choices(const Terminal *t, const ConfirmQuestion *q, Buf *out) {
    const char *const choices[] = { "y once", "a these arguments, this session", q->may_tool ? "t this tool, this session" : NULL,
                                    q->may_always ? "p these arguments, always in this project" : NULL, "n no" };
    size_t columns = width_of_terminal(t->fd), used = 0;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (!choices[i]) continue;
        size_t wide = strlen(choices[i]);
        if (used && used + 3 + wide > columns) {
            buf_add_char(out, '\n');
            used = 0;
        }
        if (wide > columns) {
            wrap_lines(out, str_from(choices[i]), 0, columns);
            continue;
        }
        if (used) buf_add(out, STR(" · ")), used += 3;
        buf_add(out, str_from(choices[i]));
        used += wide;
    }
    if (used) buf_add_char(out, '\n');
}

/* Returns the number of lines that are missing. */
static size_t add_question(const Terminal *t, const ConfirmQuestion *q, bool all, Buf *text) {
    Buf head = { 0 };
    buf_add(&head, STR("allow "));
    cli_escape_all(&head, q->tool, false);
    buf_add(&head, STR("? ("));
    cli_escape_all(&head, q->why, false);
    buf_add(&head, STR(")"));
    wrap_lines(text, buf_str(&head), 0, width_of_terminal(t->fd));
    buf_clear(&head);
    size_t missing = add_indented(t, text, q->shown, all);
    if (missing) buf_add_fmt(text, "%zu lines of it are not shown: v shows all of it, and is needed before a yes.\n", missing);
    add_choices(t, q, text);
    return missing;
}

/* Unknown text does not count as a refusal the first time: the question is repeated. The second time it refuses, and the text is the reason for
 * the model. */
static ConfirmAnswer confirm_asked(Terminal *t, const ConfirmQuestion *q, Cancel *cancel) {
    Buf text = { 0 }, line = { 0 };
    ConfirmAnswer answer = CONFIRM_NO;
    size_t missing = add_question(t, q, false, &text);
    buf_add(&text, STR("> "));
    *q->silent = true;                                       /* until a line decides */
    for (int asked = 1; ask_line(t, buf_str(&text), cancel, &line); asked++) {
        Str said = str_trim(buf_str(&line));
        bool known = understand(q, said, &answer);
        if (known && (answer == CONFIRM_NO || !missing)) {
            *q->silent = false;
            break;
        }
        if (missing && (known || says(said, "v") || says(said, "V"))) {     /* show all of it before a yes counts */
            buf_reset(&text);
            missing = add_question(t, q, true, &text);
            buf_add(&text, STR("> "));
            answer = CONFIRM_NO;
            asked = 0;
            keys_drain(t->fd);
            continue;
        }
        if (asked == 2 && said.n) {
            *q->silent = false;
            buf_add(q->reason, said);
            break;
        }
        buf_reset(&text);
        add_choices(t, q, &text);
        buf_add(&text, STR("other text declines it, as the reason for the model\n> "));
        if (said.n == 0) asked = 0;
        keys_drain(t->fd);
    }
    buf_clear(&text);
    buf_clear(&line);
    return answer;
}

static ConfirmAnswer confirm(void *ctx, const ConfirmQuestion *q, Cancel *cancel) {
    Terminal *t = ctx;
    if (!start_question(t, cancel)) return *q->silent = true, CONFIRM_NO;
    ConfirmAnswer answer = confirm_asked(t, q, cancel);
    end_question();
    return answer;
}

static bool go_on(void *ctx, const char *limit, int64_t value, Cancel *cancel) {
    Terminal *t = ctx;
    Buf text = { 0 }, line = { 0 };
    if (!start_question(t, cancel)) return false;
    buf_add_fmt(&text, "harness: %s of %lld is reached. Continue, with the same amount again? [y/N]: ", limit, (long long)value);
    bool yes = ask_line(t, buf_str(&text), cancel, &line) && says(str_trim(buf_str(&line)), "yes");
    end_question();
    buf_clear(&text);
    buf_clear(&line);
    return yes;
}

/* ---- questions ---- */

static Str type_of(Value property) {
    Value *v = value_is_dict(property) ? dict_find_str(value_dict(property), STR("type")) : NULL;
    return v && value_is_string(*v) ? value_str(*v) : STR("string");
}

/* Converts the input to the property's type. GONE: nothing was typed and there is no default. */
static bool typed_value(Heap *heap, Value property, Str said, Value *out, Error *err) {
    Value *fallback = value_is_dict(property) ? dict_find_str(value_dict(property), STR("default")) : NULL;
    *out = VALUE_GONE;
    if (said.n == 0) return !fallback || value_copy_all_into(heap, *fallback, out, err);
    if (str_eq(type_of(property), STR("boolean"))) return *out = value_from_bool(says(said, "yes") || says(said, "true")), true;
    Error bad;
    if (!str_eq(type_of(property), STR("string")) && json_read(heap, said, &(JsonRead){ 0 }, out, &bad)) return true;
    String *s = string_new(heap, said, err);
    if (s) *out = value_from_object(s);
    return s != NULL;
}

/* The value that an empty answer sends. */
static void add_fallback(Buf *out, Value property) {
    Value *v = value_is_dict(property) ? dict_find_str(value_dict(property), STR("default")) : NULL;
    Buf json = { 0 };
    Error err;
    if (v && json_write(&json, *v, &(JsonWrite){ 0 }, &err)) {
        buf_add(out, STR(" ["));
        cli_escape_all(out, buf_str(&json), false);
        buf_add_char(out, ']');
    }
    buf_clear(&json);
}

static bool ask_properties(Terminal *t, Value schema, Heap *heap, Dict *content, bool *answered, Cancel *cancel, Error *err) {
    Value *properties = value_is_dict(schema) ? dict_find_str(value_dict(schema), STR("properties")) : NULL;
    Entry *e;
    *answered = true;
    for (uint32_t i = 0; properties && value_is_dict(*properties) && *answered && dict_next(value_dict(*properties), &i, &e);) {
        Buf text = { 0 }, line = { 0 };
        Value v;
        buf_add(&text, STR("  "));
        cli_escape_all(&text, value_str(e->key), false);
        buf_add(&text, STR(" ("));
        cli_escape_all(&text, type_of(e->value), false);
        buf_add_char(&text, ')');
        add_fallback(&text, e->value);
        buf_add(&text, STR(": "));
        *answered = ask_line(t, buf_str(&text), cancel, &line);
        bool ok = !*answered || (typed_value(heap, e->value, str_trim(buf_str(&line)), &v, err)
            && (value_is_gone(v) || dict_put(heap, content, e->key, v, err)));
        buf_clear(&text);
        buf_clear(&line);
        if (!ok) return false;
    }
    return true;
}

/* *action: "accept", "decline" or "cancel" (no answer). */
static bool ask_asked(Terminal *t, Str message, Value schema, Heap *heap, Dict *content, Str *action, Cancel *cancel, Error *err) {
    Buf text = { 0 }, line = { 0 };
    bool answered;
    buf_add(&text, STR("harness: a tool asks:\n"));
    (void)add_indented(t, &text, message, true);                   /* indented, so that no line can look like one of ours */
    say(t, buf_str(&text));
    bool ok = ask_properties(t, schema, heap, content, &answered, cancel, err);
    if (ok && answered) answered = ask_line(t, STR("Send this answer? [y/N]: "), cancel, &line);
    *action = !answered ? STR("cancel") : says(str_trim(buf_str(&line)), "yes") ? STR("accept") : STR("decline");
    buf_clear(&text);
    buf_clear(&line);
    return ok;
}

static bool ask(void *ctx, Str message, Value schema, Heap *heap, Value *out, Cancel *cancel, Error *err) {
    Terminal *t = ctx;
    Str said = STR("cancel");
    bool ok = true;
    Dict *d = dict_new(heap, 2, err), *content = d ? dict_new(heap, 4, err) : NULL;
    if (!content) return false;
    if (start_question(t, cancel)) {
        ok = ask_asked(t, message, schema, heap, content, &said, cancel, err);
        end_question();
    }
    String *action = ok ? string_new(heap, said, err) : NULL;
    ok = action && dict_put_str(heap, d, STR("action"), value_from_object(action), err) &&
         (!str_eq(said, STR("accept")) || dict_put_str(heap, d, STR("content"), value_from_object(content), err));
    if (ok) *out = value_from_object(d);
    return ok;
}

/* ---- progress ---- */

static void add_number(Buf *out, Value v) {
    Error err;
    if (!json_write(out, v, &(JsonWrite){ 0 }, &err)) buf_add_char(out, '?');
}

static void progress(void *ctx, Str call_id, Value done, Value total, Str message) {
    Terminal *t = ctx;
    Buf line = { 0 }, cut = { 0 };
    (void)call_id;
    buf_add_char(&line, ' ');
    add_number(&line, done);
    if (!value_is_gone(total) && !value_is_none(total)) buf_add_char(&line, '/'), add_number(&line, total);
    buf_add_char(&line, ' ');
    cli_escape_all(&line, message, false);
    width_add_cut(&cut, buf_str(&line), width_of_terminal(t->fd) - 1);
    screen_live(t->fd, buf_str(&cut));
    buf_clear(&line);
    buf_clear(&cut);
}

Person confirm_terminal_person(Terminal *t) {
    if (!t) return (Person){ 0 };
    return (Person){ .confirm = confirm, .ask = ask, .go_on = go_on, .progress = progress, .bridge = bridge_terminal_show,
                     .source = "terminal", .ctx = t };
}
