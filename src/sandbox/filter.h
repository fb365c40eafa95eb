/* The system call filter, made with libseccomp (loaded on first use) and kept as plain BPF: the process that enters it
 * allocates nothing. What is not refused is allowed; the lists are in filter.def. */
#pragma once
#include <linux/filter.h>
#include "base/error.h"

/* What a filter must hold beside the constant list; each combination is one filter. */
enum {
    FILTER_NET_NONE = 1,                /* no sockets at all */
    FILTER_NET_PROXY = 2,               /* TCP sockets, and connect() is asked of the supervisor */
    FILTER_ASK_SIGNALS = 4,             /* kill() and its like are asked of the supervisor: no scope in the kernel for them */
    FILTER_NO_TRUNCATE = 8,             /* truncating is refused where no right to write is needed for it */
    FILTER_NO_IPC = 16,                 /* no System V and POSIX message objects: they are shared with the whole machine */
    FILTER_ASK_MODES = 32,              /* changing modes, times and owners is asked of the supervisor; attributes stay */
    FILTER_TELL = 64,                   /* calls that name files, and socket(), are shown to the supervisor: for explaining */
    FILTER_VARIANTS = 128,
};
#define FILTER_ASKS (FILTER_NET_PROXY | FILTER_ASK_SIGNALS | FILTER_ASK_MODES | FILTER_TELL)

typedef struct Filter { struct sock_filter *at; size_t n; } Filter;

bool filter_build(unsigned variant, Filter *out, Error *err);           /* any thread */
void filter_clear(Filter *f);
