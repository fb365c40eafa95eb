/* The system call filter, built with libseccomp (loaded on first use) and kept as plain BPF, so that the process that
 * installs it does not allocate. Calls that are not refused are allowed; the lists are in filter.def. */
#pragma once
#include <linux/filter.h>
#include "base/error.h"

/* Additions to the constant list; each combination is one filter. */
enum {
    FILTER_NET_NONE = 1,                /* no sockets at all */
    FILTER_NET_PROXY = 2,               /* TCP sockets only; the supervisor performs connect() */
    FILTER_ASK_SIGNALS = 4,             /* the supervisor performs kill() and similar calls: the kernel has no signal
                                         * scope */
    FILTER_NO_TRUNCATE = 8,             /* refuse truncation that needs no write access */
    FILTER_NO_IPC = 16,                 /* no System V and POSIX message objects: they are shared by the whole
                                         * machine */
    FILTER_ASK_MODES = 32,              /* the supervisor changes modes, times and owners; attributes cannot be
                                         * changed */
    FILTER_TELL = 64,                   /* the supervisor sees calls that name files, and socket(): for --explain */
    FILTER_VARIANTS = 128,
};
#define FILTER_ASKS (FILTER_NET_PROXY | FILTER_ASK_SIGNALS | FILTER_ASK_MODES | FILTER_TELL)

typedef struct Filter { struct sock_filter *at; size_t n; } Filter;

bool filter_build(unsigned variant, Filter *out, Error *err);           /* thread-safe */
void filter_clear(Filter *f);
