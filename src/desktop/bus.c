#include "desktop/bus.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/utf8.h"

enum { SIGNALS_MAX = 64, REASON_MAX = 200 };

static bool failed(const char *what, int r, Error *err) { return error_set(err, ERR_IO, "%s: %s", what, strerror(-r)); }

/* ---- waiting ---- */

static int wait_ms(Bus *b, int64_t until_ns, Cancel *cancel) {
    int64_t left = (until_ns - clock_mono_ns()) / 1000000 + 1;
    uint64_t due = UINT64_MAX;
    int most = cancel_poll_ms(cancel);
    if (b->lib->sd_bus_get_timeout(b->bus, &due) >= 0 && due != UINT64_MAX) {
        int64_t own = ((int64_t)due - clock_mono_ns() / 1000) / 1000 + 1;
        if (own < left) left = own;
    }
    if (most >= 0 && most < left) left = most;
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

/* Checks the token and the time before each message, so that a service that never stops sending cannot block the call. At `until_ns`
 * without a message: returns true, *out is NULL. */
static bool receive(Bus *b, int64_t until_ns, Cancel *cancel, bool only_ready, sd_bus_message **out, Error *err) {
    *out = NULL;
    for (;;) {
        sd_bus_message *m = NULL;
        if (!cancel_check(cancel, err)) return false;
        if (clock_mono_ns() >= until_ns || (only_ready && b->lib->sd_bus_is_ready(b->bus) > 0)) return true;
        int r = b->lib->sd_bus_process(b->bus, &m);
        if (r < 0) return failed("the session bus", r, err);
        if (m) return *out = m, true;
        if (r > 0) continue;
        int events = b->lib->sd_bus_get_events(b->bus);
        if (events < 0) return failed("the session bus", events, err);
        struct pollfd fds[] = { { b->lib->sd_bus_get_fd(b->bus), (short)events, 0 }, { cancel_fd(cancel), POLLIN, 0 } };
        if (poll(fds, 2, wait_ms(b, until_ns, cancel)) < 0 && errno != EINTR) return failed("poll", -errno, err);
    }
}

void bus_free(Bus *b, sd_bus_message *m) {
    if (m) b->lib->sd_bus_message_unref(m);
}

static uint8_t type_of(Bus *b, sd_bus_message *m) {
    uint8_t type = 0;
    return b->lib->sd_bus_message_get_type(m, &type) >= 0 ? type : 0;
}

/* Keeps a signal for bus_signal. Drops those beyond SIGNALS_MAX: so many during one method call cannot be for us. */
static void keep(Bus *b, sd_bus_message *m) {
    if (type_of(b, m) == SD_BUS_MESSAGE_SIGNAL && b->signals.n < SIGNALS_MAX) VEC_PUSH(&b->signals, m);
    else bus_free(b, m);
}

/* ---- connecting ---- */

/* Rejects the address kind that starts a program (unixexec:). */
static bool address_ok(Error *err) {
    const char *address = getenv("DBUS_SESSION_BUS_ADDRESS"), *folder = getenv("XDG_RUNTIME_DIR");
    if (!(address && *address) && !(folder && *folder))
        return error_set(err, ERR_IO, "no session bus: DBUS_SESSION_BUS_ADDRESS and XDG_RUNTIME_DIR are not set");
    if (address && strstr(address, "unixexec:")) return error_set(err, ERR_IO, "no session bus: DBUS_SESSION_BUS_ADDRESS would start a program (unixexec:)");
    return true;
}

bool bus_open(Bus *b, Cancel *cancel, Error *err) {
    sd_bus_message *m = NULL;
    *b = (Bus){ 0 };
    if (!address_ok(err) || !(b->lib = sdbus_library(err))) return false;
    int r = b->lib->sd_bus_open_user(&b->bus);
    if (r < 0) return failed("no session bus", r, err);
    int64_t until = clock_mono_ns() + BUS_CALL_MS * 1000000ll;
    while (b->lib->sd_bus_is_ready(b->bus) <= 0) {
        if (!receive(b, until, cancel, true, &m, err)) return false;
        if (m) keep(b, m);
        else if (clock_mono_ns() >= until) return error_set(err, ERR_IO, "the session bus did not answer within %d s", BUS_CALL_MS / 1000);
    }
    return true;
}

void bus_close(Bus *b) {
    for (size_t i = 0; i < b->signals.n; i++) bus_free(b, b->signals.at[i]);
    VEC_CLEAR(&b->signals);
    if (b->bus) b->lib->sd_bus_close_unref(b->bus);
    b->bus = NULL;
}

/* ---- method calls ---- */

sd_bus_message *bus_method(Bus *b, const char *service, const char *path, const char *interface, const char *method, Error *err) {
    sd_bus_message *m = NULL;
    int r = b->lib->sd_bus_message_new_method_call(b->bus, &m, service, path, interface, method);
    if (r < 0) failed(method, r, err);
    return r < 0 ? NULL : m;
}

/* The text of an error that a service sent: short, without control characters. */
static bool tell_error(Bus *b, sd_bus_message *m, Error *err) {
    const sd_bus_error *e = b->lib->sd_bus_message_get_error(m);
    Str text = str_from(e && e->message ? e->message : e && e->name ? e->name : "error without a name");
    Buf shown = { 0 };
    utf8_escape(str_sub(text, 0, REASON_MAX), false, &shown);
    error_set(err, ERR_IO, STR_FMT, STR_ARG(buf_str(&shown)));
    buf_clear(&shown);
    return false;
}

bool bus_call(Bus *b, sd_bus_message *m, Cancel *cancel, sd_bus_message **answer, Error *err) {
    uint64_t cookie = 0, of = 0;
    int r = b->lib->sd_bus_send(b->bus, m, &cookie);
    bus_free(b, m);
    if (r < 0) return failed("the session bus", r, err);
    for (int64_t until = clock_mono_ns() + BUS_CALL_MS * 1000000ll;;) {
        sd_bus_message *in;
        if (!receive(b, until, cancel, false, &in, err)) return false;
        if (!in) return error_set(err, ERR_IO, "no answer within %d s", BUS_CALL_MS / 1000);
        uint8_t type = type_of(b, in);
        bool ours = (type == SD_BUS_MESSAGE_METHOD_RETURN || type == SD_BUS_MESSAGE_METHOD_ERROR)
            && b->lib->sd_bus_message_get_reply_cookie(in, &of) >= 0 && of == cookie;
        if (!ours) {
            keep(b, in);
        } else if (type == SD_BUS_MESSAGE_METHOD_RETURN) {
            return *answer = in, true;
        } else {
            tell_error(b, in, err);
            return bus_free(b, in), false;
        }
    }
}

void bus_post(Bus *b, sd_bus_message *m) {
    if (!m) return;
    (void)b->lib->sd_bus_send(b->bus, m, NULL);
    bus_free(b, m);
}

/* ---- signals ---- */

bool bus_match(Bus *b, const char *rule, Cancel *cancel, Error *err) {
    sd_bus_message *answer, *m = bus_method(b, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", err);
    if (!m) return false;
    int r = b->lib->sd_bus_message_append(m, "s", rule);
    if (r < 0) return bus_free(b, m), failed("AddMatch", r, err);
    if (!bus_call(b, m, cancel, &answer, err)) return false;
    bus_free(b, answer);
    return true;
}

bool bus_signal(Bus *b, int64_t until_ns, Cancel *cancel, sd_bus_message **out, Error *err) {
    if (b->signals.n) {
        *out = b->signals.at[0];
        memmove(b->signals.at, b->signals.at + 1, --b->signals.n * sizeof *b->signals.at);
        return true;
    }
    for (;;) {
        if (!receive(b, until_ns, cancel, false, out, err)) return false;
        if (!*out || type_of(b, *out) == SD_BUS_MESSAGE_SIGNAL) return true;
        bus_free(b, *out);
    }
}

bool bus_left(Bus *b, sd_bus_message *signal, const char *name, const char *owner) {
    const char *sender = b->lib->sd_bus_message_get_sender(signal), *of, *before, *after;
    if (!b->lib->sd_bus_message_is_signal(signal, "org.freedesktop.DBus", "NameOwnerChanged") || !sender
        || strcmp(sender, "org.freedesktop.DBus") != 0) return false;
    if (b->lib->sd_bus_message_read(signal, "sss", &of, &before, &after) < 0) return false;
    return strcmp(of, name) == 0 && strcmp(before, owner) == 0 && strcmp(after, owner) != 0;
}

bool bus_mistyped(const char *service, Error *err) { return error_set(err, ERR_IO, "%s sent data of the wrong type", service); }
