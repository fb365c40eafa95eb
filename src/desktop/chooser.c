#include "desktop/chooser.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/random.h"
#include "base/utf8.h"
#include "desktop/bus.h"

#define SERVICE "org.freedesktop.portal.Desktop"
#define OBJECT "/org/freedesktop/portal/desktop"
#define CHOOSER "org.freedesktop.portal.FileChooser"
#define REQUEST "org.freedesktop.portal.Request"

enum { NAME_MAX_BYTES = 256, HANDLE_MAX = 512, OPTIONS_MAX = 100 };

typedef struct Asked { Bus bus; char owner[NAME_MAX_BYTES], token[40], handle[HANDLE_MAX]; } Asked;

/* ---- URIs ---- */

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

static bool bad_uri(Str uri, const char *why, Error *err) {
    Buf shown = { 0 };
    utf8_escape(str_sub(uri, 0, 200), false, &shown);
    error_set(err, ERR_IO, STR_FMT ": %s", STR_ARG(buf_str(&shown)), why);
    buf_clear(&shown);
    return false;
}

bool chooser_path(Str uri, Arena *arena, Str *out, Error *err) {
    if (!str_starts(uri, STR("file://"))) return bad_uri(uri, "not a file: address", err);
    Str rest = str_sub(uri, 7, uri.n);
    if (str_starts(rest, STR("localhost/"))) rest = str_sub(rest, 9, rest.n);
    if (rest.n == 0 || rest.at[0] != '/') return bad_uri(uri, "a file of another machine", err);
    if (rest.n >= (size_t)3 * PATH_MAX) return bad_uri(uri, "too long", err);
    char *path = arena_alloc(arena, rest.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < rest.n; i++) {
        int c = (unsigned char)rest.at[i];
        if (c == '?' || c == '#') return bad_uri(uri, "not an address of a file", err);
        if (c == '%') {
            int high = i + 2 < rest.n ? hex(rest.at[i + 1]) : -1, low = i + 2 < rest.n ? hex(rest.at[i + 2]) : -1;
            if (high < 0 || low < 0) return bad_uri(uri, "has an invalid escape", err);
            c = high * 16 + low;
            i += 2;
        }
        if (c == 0) return bad_uri(uri, "contains a NUL byte", err);
        path[n++] = (char)c;
    }
    path[n] = 0;
    return n < PATH_MAX ? (*out = (Str){ path, n }, true) : bad_uri(uri, "too long", err);
}

/* ---- asking ---- */

/* The portal derives the path of a request from our name and the token, so we can subscribe to its signal before the call. */
static bool prepare(Asked *a, Cancel *cancel, Error *err) {
    const char *name;
    char sender[NAME_MAX_BYTES], rule[HANDLE_MAX + 200];
    int r = a->bus.lib->sd_bus_get_unique_name(a->bus.bus, &name);
    if (r < 0 || name[0] != ':' || strlen(name) >= sizeof sender) return error_set(err, ERR_IO, "the session bus gave no name");
    snprintf(sender, sizeof sender, "%s", name + 1);
    for (char *c = sender; *c; c++)
        if (*c == '.') *c = '_';
    snprintf(a->token, sizeof a->token, "harness_%016llx", (unsigned long long)random_u64());
    snprintf(a->handle, sizeof a->handle, OBJECT "/request/%s/%s", sender, a->token);
    snprintf(rule, sizeof rule, "type='signal',interface='" REQUEST "',member='Response',path='%s'", a->handle);
    return bus_match(&a->bus, rule, cancel, err)
        && bus_match(&a->bus, "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" SERVICE "'", cancel, err);
}

/* filters: one entry, with a pair (0, glob) for each pattern. */
static int add_filter(const SdbusLibrary *lib, sd_bus_message *m, const Chooser *c) {
    Buf name = { 0 };
    for (size_t i = 0; i < c->n_globs; i++) buf_add_fmt(&name, "%s" STR_FMT, i ? ", " : "", STR_ARG(c->globs[i]));
    int r = lib->sd_bus_message_open_container(m, 'e', "sv");
    if (r >= 0) r = lib->sd_bus_message_append(m, "s", "filters");
    if (r >= 0) r = lib->sd_bus_message_open_container(m, 'v', "a(sa(us))");
    if (r >= 0) r = lib->sd_bus_message_open_container(m, 'a', "(sa(us))");
    if (r >= 0) r = lib->sd_bus_message_open_container(m, 'r', "sa(us)");
    if (r >= 0) r = lib->sd_bus_message_append(m, "s", buf_str(&name).at);
    if (r >= 0) r = lib->sd_bus_message_open_container(m, 'a', "(us)");
    for (size_t i = 0; r >= 0 && i < c->n_globs; i++) r = lib->sd_bus_message_append(m, "(us)", (uint32_t)0, c->globs[i].at);
    for (int i = 0; r >= 0 && i < 5; i++) r = lib->sd_bus_message_close_container(m);
    buf_clear(&name);
    return r;
}

/* current_folder: bytes, with the NUL at the end. */
static int add_folder(const SdbusLibrary *lib, sd_bus_message *m, Str folder) {
    int r = lib->sd_bus_message_open_container(m, 'e', "sv");
    if (r >= 0) r = lib->sd_bus_message_append(m, "s", "current_folder");
    if (r >= 0) r = lib->sd_bus_message_open_container(m, 'v', "ay");
    if (r >= 0) r = lib->sd_bus_message_append_array(m, 'y', folder.at, folder.n + 1);
    for (int i = 0; r >= 0 && i < 2; i++) r = lib->sd_bus_message_close_container(m);
    return r;
}

static int fill(const Asked *a, sd_bus_message *m, const Chooser *c) {
    const SdbusLibrary *lib = a->bus.lib;
    int r = lib->sd_bus_message_append(m, "ss", "", c->title.at);
    if (r >= 0) r = lib->sd_bus_message_open_container(m, 'a', "{sv}");
    if (r >= 0) r = lib->sd_bus_message_append(m, "{sv}", "handle_token", "s", a->token);
    if (r >= 0) r = lib->sd_bus_message_append(m, "{sv}", "multiple", "b", (int)c->multiple);
    if (r >= 0 && c->folder.n) r = add_folder(lib, m, c->folder);
    if (r >= 0 && c->n_globs) r = add_filter(lib, m, c);
    return r < 0 ? r : lib->sd_bus_message_close_container(m);
}

/* A portal before version 0.9 chooses the path of the request itself. */
static bool take_handle(Asked *a, sd_bus_message *answer, Cancel *cancel, Error *err) {
    const char *owner = a->bus.lib->sd_bus_message_get_sender(answer), *handle;
    char rule[HANDLE_MAX + 200];
    if (a->bus.lib->sd_bus_message_read(answer, "o", &handle) < 0 || !owner || strlen(owner) >= sizeof a->owner || strlen(handle) >= sizeof a->handle)
        return bus_mistyped(SERVICE, err);
    snprintf(a->owner, sizeof a->owner, "%s", owner);
    if (strcmp(handle, a->handle) == 0) return true;
    snprintf(a->handle, sizeof a->handle, "%s", handle);
    snprintf(rule, sizeof rule, "type='signal',interface='" REQUEST "',member='Response',path='%s'", a->handle);
    return bus_match(&a->bus, rule, cancel, err);
}

static bool ask(Asked *a, const Chooser *c, Cancel *cancel, Error *err) {
    sd_bus_message *answer, *m = bus_method(&a->bus, SERVICE, OBJECT, CHOOSER, "OpenFile", err);
    if (!m) return false;
    if (fill(a, m, c) < 0) return bus_free(&a->bus, m), error_set(err, ERR_IO, "the request to the file chooser cannot be sent");
    if (!bus_call(&a->bus, m, cancel, &answer, err)) return error_wrap(err, SERVICE);
    bool ok = take_handle(a, answer, cancel, err);
    bus_free(&a->bus, answer);
    return ok;
}

/* ---- the answer ---- */

typedef struct Paths { Arena *arena; Str *at; size_t n; } Paths;

static bool read_uris(Asked *a, sd_bus_message *m, Paths *out, Error *err) {
    const SdbusLibrary *lib = a->bus.lib;
    const char *uri;
    int r = lib->sd_bus_message_enter_container(m, 'v', "as");
    if (r > 0) r = lib->sd_bus_message_enter_container(m, 'a', "s");
    if (r <= 0) return bus_mistyped(SERVICE, err);
    while ((r = lib->sd_bus_message_read(m, "s", &uri)) > 0) {
        if (!vec_limit(out->n, CHOOSER_FILES_MAX, "picked files", err) || !chooser_path(str_from(uri), out->arena, &out->at[out->n], err)) return false;
        out->n++;
    }
    if (r >= 0) r = lib->sd_bus_message_exit_container(m);
    if (r >= 0) r = lib->sd_bus_message_exit_container(m);
    return r >= 0 || bus_mistyped(SERVICE, err);
}

/* (response, results): 0 means chosen, 1 that the user pressed Cancel, 2 that the window was closed in another way. */
static bool read_response(Asked *a, sd_bus_message *m, Paths *out, bool *closed, Error *err) {
    const SdbusLibrary *lib = a->bus.lib;
    const char *key;
    uint32_t response;
    if (lib->sd_bus_message_read(m, "u", &response) <= 0) return bus_mistyped(SERVICE, err);
    if (response == 1 || response == 2) return *closed = true, true;
    if (response != 0) return error_set(err, ERR_IO, SERVICE " sent an unknown answer (%u)", (unsigned)response);
    int r = lib->sd_bus_message_enter_container(m, 'a', "{sv}");
    if (r < 0) return bus_mistyped(SERVICE, err);
    for (int i = 0; i < OPTIONS_MAX && (r = lib->sd_bus_message_enter_container(m, 'e', "sv")) > 0; i++) {
        if (lib->sd_bus_message_read(m, "s", &key) <= 0) return bus_mistyped(SERVICE, err);
        if (strcmp(key, "uris") != 0) r = lib->sd_bus_message_skip(m, "v");
        else if (!read_uris(a, m, out, err)) return false;
        if (r >= 0) r = lib->sd_bus_message_exit_container(m);
        if (r < 0) return bus_mistyped(SERVICE, err);
    }
    if (r < 0) return bus_mistyped(SERVICE, err);
    return *closed = out->n == 0, true;
}

static void withdraw(Asked *a) { bus_post(&a->bus, bus_method(&a->bus, SERVICE, a->handle, REQUEST, "Close", NULL)); }

static bool is_response(Asked *a, sd_bus_message *m) {
    const char *sender = a->bus.lib->sd_bus_message_get_sender(m), *path = a->bus.lib->sd_bus_message_get_path(m);
    return a->bus.lib->sd_bus_message_is_signal(m, REQUEST, "Response") && sender && strcmp(sender, a->owner) == 0 && path && strcmp(path, a->handle) == 0;
}

static bool wait_for_response(Asked *a, const Chooser *c, Paths *out, bool *closed, Cancel *cancel, Error *err) {
    for (int64_t until = clock_mono_ns() + c->wait_ms * 1000000;;) {
        sd_bus_message *m;
        if (!bus_signal(&a->bus, until, cancel, &m, err)) return withdraw(a), false;
        if (!m) return withdraw(a), *closed = true, true;
        bool answered = is_response(a, m), left = !answered && bus_left(&a->bus, m, SERVICE, a->owner);
        bool ok = !answered || read_response(a, m, out, closed, err);
        bus_free(&a->bus, m);
        if (left) return error_set(err, ERR_IO, SERVICE " left the bus before the answer");
        if (answered) return ok;
    }
}

bool chooser_pick(const Chooser *c, Arena *arena, Str *paths, size_t *n, bool *closed, Cancel *cancel, Error *err) {
    Asked a = { 0 };
    Paths out = { arena, paths, 0 };
    bool ok = bus_open(&a.bus, cancel, err) && prepare(&a, cancel, err) && ask(&a, c, cancel, err)
        && wait_for_response(&a, c, &out, closed, cancel, err);
    bus_close(&a.bus);
    if (ok) *n = out.n;
    return ok;
}
