/* Landlock: which files a program may touch. A ruleset is built as a descriptor before the fork; the program's process
 * then only has to enter it. */
#pragma once
#include "base/error.h"

enum {
    RULESET_READ = 1,                   /* read files and folders, run programs */
    RULESET_WRITE = 2,                  /* make, change, remove, rename; implies reading */
    RULESET_DEVICE = 4,                 /* read and write one device file, nothing else */
    RULESET_NO_LINKS = 8,               /* a link on the way is an error: a program may have put it there */
    RULESET_LIST = 16,                  /* list folders, read no files */
};

typedef struct RulesetOptions {
    int abi;                            /* at most this one is used; from probe_kernel() */
    bool no_tcp;                        /* neither bind nor connect TCP sockets (ABI 4) */
} RulesetOptions;

/* A descriptor, or -1. Everything is refused until ruleset_allow(). With ABI 6 and above also signals to processes outside
 * and abstract unix sockets of others are refused. */
int ruleset_new(const RulesetOptions *options, Error *err);
/* Opens `path` and all below it. A path that does not exist is left out; true. Opened by what it leads to now: later
 * renames and links change nothing. */
bool ruleset_allow(int ruleset, const RulesetOptions *options, const char *path, int what, Error *err);
/* The same by a descriptor (O_PATH is enough) of a folder or of another file; `path` is for the message. */
bool ruleset_allow_open(int ruleset, const RulesetOptions *options, int fd, bool folder, const char *path, int what, Error *err);
/* The highest ABI that the kernel itself offers; 0: none. */
int ruleset_kernel_abi(void);
