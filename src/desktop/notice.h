/* A notification of the desktop (org.freedesktop.Notifications), with or without buttons. */
#pragma once
#include "base/cancel.h"
#include "base/str.h"

typedef struct Notice {
    Str title, text;                     /* plain text; NUL-terminated */
    const Str *buttons; size_t n_buttons;        /* NUL-terminated; none: it is only shown */
    int64_t wait_ms;                     /* with buttons: how long to wait for an answer */
} Notice;

/* Shows it. With buttons, waits until one is pressed (*button) or the notification is closed or expires (*closed). When `cancel` fires, the
 * notification is closed. ERR_IO if there is no service, if it has no buttons, or if it leaves the bus. */
bool notice_show(const Notice *n, size_t *button, bool *closed, Cancel *cancel, Error *err);
