/* Asks on the desktop of this machine, over the session bus. */
#include <stdlib.h>
#include "desktop/chooser.h"
#include "desktop/notice.h"
#include "tool/bridge/bridge.h"
#include "tool/pipeline/pipe.h"

_Static_assert((int)CHOOSER_FILES_MAX <= (int)BRIDGE_FILES_MAX, "an answer has room for all files of the chooser");

static bool set(const char *name) {
    const char *value = getenv(name);
    return value && *value;
}

static bool can_desktop(const ToolCallFrame *f, const BridgeAsk *ask, Error *why) {
    (void)ask;
    if (pipe_person(f->host->call)->away) return error_set(why, ERR_POLICY, "the client is not at this desktop");
    return set("DBUS_SESSION_BUS_ADDRESS") || set("XDG_RUNTIME_DIR") || error_set(why, ERR_POLICY, "no desktop (no session bus)");
}

/* The label is part of the title: a service may show title and text only. */
static bool show_desktop(ToolCallFrame *f, const BridgeAsk *ask, BridgeAnswer *out, Cancel *cancel, Error *err) {
    Str title = str_from(arena_fmt(&out->arena, STR_FMT ": " STR_FMT, STR_ARG(ask->label), STR_ARG(ask->title)));
    bool ok;
    (void)f;
    if (ask->kind == BRIDGE_PICK) {
        Chooser c = { title, ask->multiple, ask->globs, ask->n_globs, ask->folder, BRIDGE_WAIT_MS };
        ok = chooser_pick(&c, &out->arena, out->files, &out->n_files, &out->closed, cancel, err);
    } else {
        Notice n = { title, ask->text, ask->buttons, ask->n_buttons, BRIDGE_WAIT_MS };
        ok = notice_show(&n, &out->button, &out->closed, cancel, err);
    }
    return ok || error_wrap(err, "desktop");
}

const BridgePlace bridge_desktop_place = { "desktop", true, can_desktop, show_desktop };
