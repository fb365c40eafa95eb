/* Landlock: which files a program may access. A ruleset is built as a descriptor before the fork; the program's process
 * only enters it. */
#pragma once
#include "base/error.h"

enum {
    RULESET_READ = 1,                   /* read files and folders, run programs */
    RULESET_WRITE = 2,                  /* create, change, remove, rename; implies reading */
    RULESET_DEVICE = 4,                 /* read and write one device file */
    RULESET_NO_LINKS = 8,               /* a link in the path is an error: a program may have created it */
    RULESET_LIST = 16,                  /* list folders, read no files */
};

typedef struct RulesetOptions {
    int abi;                            /* upper bound of the version used; from probe_kernel() */
    bool no_tcp;                        /* neither bind nor connect TCP sockets (ABI 4) */
} RulesetOptions;

/* A descriptor, or -1. Refuses everything until ruleset_allow(). From ABI 6 on also refuses signals to processes
 * outside and abstract unix sockets of others. */
int ruleset_new(const RulesetOptions *options, Error *err);
/* Allows `path` and everything below it. A missing path is skipped; true. Refers to the file opened now: later renames
 * and links have no effect. */
bool ruleset_allow(int ruleset, const RulesetOptions *options, const char *path, int what, Error *err);
/* The same by a descriptor (O_PATH suffices) of a folder or another file; `path` is for the message. */
bool ruleset_allow_open(int ruleset, const RulesetOptions *options, int fd, bool folder, const char *path, int what, Error *err);
/* The highest ABI that the kernel supports; 0: none. */
int ruleset_kernel_abi(void);
