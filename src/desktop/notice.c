#include "desktop/notice.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "desktop/bus.h"

#define SERVICE "org.freedesktop.Notifications"
#define OBJECT "/org/freedesktop/Notifications"

enum { CAPABILITIES_MAX = 100, OWNER_MAX = 256, WITHDRAW_MS = 500 };

typedef struct Shown { Bus bus; uint32_t id; char owner[OWNER_MAX]; bool buttons, markup; } Shown;

/* ---- what the service can do ---- */

static bool read_capabilities(Shown *s, sd_bus_message *m, Error *err) {
    const SdbusLibrary *lib = s->bus.lib;
    const char *name;
    int r = lib->sd_bus_message_enter_container(m, 'a', "s");
    for (int i = 0; r >= 0 && i < CAPABILITIES_MAX && (r = lib->sd_bus_message_read(m, "s", &name)) > 0; i++) {
        s->buttons |= strcmp(name, "actions") == 0;
        s->markup |= strcmp(name, "body-markup") == 0;
    }
    return r >= 0 || bus_mistyped(SERVICE, err);
}

static bool ask_capabilities(Shown *s, Cancel *cancel, Error *err) {
    sd_bus_message *answer, *m = bus_method(&s->bus, SERVICE, OBJECT, SERVICE, "GetCapabilities", err);
    if (!m || !bus_call(&s->bus, m, cancel, &answer, err)) return error_wrap(err, SERVICE);
    bool ok = read_capabilities(s, answer, err);
    bus_free(&s->bus, answer);
    return ok;
}

/* ---- showing ---- */

static void add_text(const Shown *s, Str text, Buf *out) {
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        const char *entity = !s->markup ? NULL : c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : NULL;
        if (entity) buf_add(out, str_from(entity));
        else buf_add_char(out, c);
    }
}

/* Keys are numbers, so that a label can never be a key that the service treats in a special way ("default"). */
static int add_buttons(const Shown *s, sd_bus_message *m, const Notice *n) {
    int r = s->bus.lib->sd_bus_message_open_container(m, 'a', "s");
    for (size_t i = 0; r >= 0 && i < n->n_buttons; i++) {
        char key[24];
        snprintf(key, sizeof key, "%zu", i);
        r = s->bus.lib->sd_bus_message_append(m, "ss", key, n->buttons[i].at);
    }
    return r < 0 ? r : s->bus.lib->sd_bus_message_close_container(m);
}

/* A dialog does not expire; a notification expires when the service decides. */
static int fill(const Shown *s, sd_bus_message *m, const Notice *n) {
    Buf text = { 0 };
    add_text(s, n->text, &text);
    int r = s->bus.lib->sd_bus_message_append(m, "susss", "harness", (uint32_t)0, "", n->title.at, buf_str(&text).at);
    if (r >= 0) r = add_buttons(s, m, n);
    if (r >= 0) r = s->bus.lib->sd_bus_message_append(m, "a{sv}i", (int)1, "urgency", "y", n->n_buttons ? 2 : 1, (int32_t)(n->n_buttons ? 0 : -1));
    buf_clear(&text);
    return r;
}

static bool take_answer(Shown *s, sd_bus_message *answer, Error *err) {
    const char *owner = s->bus.lib->sd_bus_message_get_sender(answer);
    if (s->bus.lib->sd_bus_message_read(answer, "u", &s->id) < 0 || s->id == 0 || !owner || strlen(owner) >= sizeof s->owner) return bus_mistyped(SERVICE, err);
    snprintf(s->owner, sizeof s->owner, "%s", owner);
    return true;
}

static bool show(Shown *s, const Notice *n, Cancel *cancel, Error *err) {
    sd_bus_message *answer, *m = bus_method(&s->bus, SERVICE, OBJECT, SERVICE, "Notify", err);
    if (!m) return false;
    if (fill(s, m, n) < 0) return bus_free(&s->bus, m), error_set(err, ERR_IO, "the notification cannot be sent");
    if (!bus_call(&s->bus, m, cancel, &answer, err)) return error_wrap(err, SERVICE);
    bool ok = take_answer(s, answer, err);
    bus_free(&s->bus, answer);
    return ok;
}

/* ---- waiting for a button ---- */

static bool listen(Shown *s, Cancel *cancel, Error *err) {
    return bus_match(&s->bus, "type='signal',interface='" SERVICE "',path='" OBJECT "'", cancel, err)
        && bus_match(&s->bus, "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" SERVICE "'", cancel, err);
}

typedef enum { NOTHING, PRESSED, CLOSED, GONE } Said;

/* Accepts the signal only from the service that showed the notification: any program on the bus can send one. */
static Said understand(Shown *s, sd_bus_message *m, size_t n_buttons, size_t *button) {
    const SdbusLibrary *lib = s->bus.lib;
    const char *sender = lib->sd_bus_message_get_sender(m), *key;
    uint32_t id, reason;
    if (bus_left(&s->bus, m, SERVICE, s->owner)) return GONE;
    if (!sender || strcmp(sender, s->owner) != 0) return NOTHING;
    if (lib->sd_bus_message_is_signal(m, SERVICE, "NotificationClosed"))
        return lib->sd_bus_message_read(m, "uu", &id, &reason) > 0 && id == s->id ? CLOSED : NOTHING;
    if (!lib->sd_bus_message_is_signal(m, SERVICE, "ActionInvoked") || lib->sd_bus_message_read(m, "us", &id, &key) <= 0 || id != s->id) return NOTHING;
    for (size_t i = 0; i < n_buttons; i++) {
        char own[24];
        snprintf(own, sizeof own, "%zu", i);
        if (strcmp(own, key) == 0) return *button = i, PRESSED;
    }
    return NOTHING;
}

/* Waits briefly for the reply: if the connection closes while signals for it are in flight, the bus drops the messages it has sent. */
static void withdraw(Shown *s) {
    sd_bus_message *answer, *m = bus_method(&s->bus, SERVICE, OBJECT, SERVICE, "CloseNotification", NULL);
    Cancel *own = cancel_new(NULL, (int64_t)WITHDRAW_MS * 1000000);
    Error ignored = { 0 };
    if (m && s->bus.lib->sd_bus_message_append(m, "u", s->id) < 0) bus_free(&s->bus, m), m = NULL;
    if (m && bus_call(&s->bus, m, own, &answer, &ignored)) bus_free(&s->bus, answer);
    cancel_free(own);
}

static bool wait_for_button(Shown *s, const Notice *n, size_t *button, bool *closed, Cancel *cancel, Error *err) {
    for (int64_t until = clock_mono_ns() + n->wait_ms * 1000000;;) {
        sd_bus_message *m;
        if (!bus_signal(&s->bus, until, cancel, &m, err)) return withdraw(s), false;
        if (!m) return withdraw(s), *closed = true, true;
        Said said = understand(s, m, n->n_buttons, button);
        bus_free(&s->bus, m);
        if (said == GONE) return error_set(err, ERR_IO, SERVICE " left the bus before the answer");
        if (said == PRESSED) withdraw(s);                 /* some services keep it on the screen after a button was pressed */
        if (said != NOTHING) return *closed = said == CLOSED, true;
    }
}

bool notice_show(const Notice *n, size_t *button, bool *closed, Cancel *cancel, Error *err) {
    Shown s = { 0 };
    bool ok = bus_open(&s.bus, cancel, err) && ask_capabilities(&s, cancel, err);
    if (ok && n->n_buttons && !s.buttons) ok = error_set(err, ERR_IO, SERVICE " has no buttons here");
    ok = ok && (!n->n_buttons || listen(&s, cancel, err)) && show(&s, n, cancel, err);
    if (ok && n->n_buttons) ok = wait_for_button(&s, n, button, closed, cancel, err);
    bus_close(&s.bus);
    return ok;
}
