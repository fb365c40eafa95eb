/* System calls of a program that its supervisor decides, because no filter can: connect() (the address is in memory),
 * changing modes and times of files (Landlock does not restrict the owner) and, where Landlock cannot restrict them,
 * signals. Inotify instances and watches and seccomp filters are counted. The supervisor examines its own copy of the arguments and performs the call
 * itself, so that changing the memory afterwards has no effect. It never blocks. */
#pragma once
#include <limits.h>
#include <poll.h>
#include "base/str.h"
#include "sandbox/request.h"
#include "sandbox/tree.h"

enum { ASK_CONNECTS_MAX = 32, ASK_ROOTS_MAX = 128 };
/* Limits over the life of a call: inotify instances, inotify watches, seccomp filters. */
enum { ASK_INSTANCES_MAX = 16, ASK_WATCHES_MAX = 16384, ASK_FILTERS_MAX = 512 };

struct seccomp_notif;

typedef struct AskConnect { uint64_t id; int fd; } AskConnect;      /* a connection in progress */

typedef struct Ask {
    int listener;                       /* -1: none */
    const Tree *tree;
    const Request *request;
    uint16_t port;
    Buf denied;
    char *roots[ASK_ROOTS_MAX];         /* writable roots, with links resolved */
    size_t n_roots;
    AskConnect connects[ASK_CONNECTS_MAX];
    size_t n_connects;
    unsigned n_instances, n_watches, n_filters;          /* number created so far */
} Ask;

void ask_init(Ask *a, const Tree *tree, const Request *r);
void ask_roots(Ask *a, const Request *r, const char *scratch);   /* for calls about files */
void ask_listen(Ask *a, int listener);                 /* takes ownership of the descriptor; -1: no more */
void ask_answer(Ask *a);                               /* handles one notification, if there is one */
size_t ask_waits(const Ask *a, struct pollfd *out);    /* descriptors that connections in progress wait for */
void ask_finish(Ask *a, const struct pollfd *waits, size_t n);
Str ask_denied(const Ask *a);

/* Shared by ask.c, ask_modes.c and ask_paths.c. */
/* Read the asking process's memory; a string in it; its descriptor, and the file at a path, as our own descriptor: -1
 * with errno. Paths are resolved without magic links, which would refer to the supervisor's own descriptors. */
bool ask_read(const Ask *a, const struct seccomp_notif *q, uint64_t from, void *to, size_t n);
bool ask_read_path(const Ask *a, const struct seccomp_notif *q, uint64_t from, char path[PATH_MAX]);
int ask_take(const Ask *a, const struct seccomp_notif *q, int fd);
int ask_open(const Ask *a, const struct seccomp_notif *q, int base, const char *path, bool follow);
bool ask_is_below(const char *path, const char *root);                  /* both without links and dots */
bool ask_is_inside(const Ask *a, const char *path);                     /* true if the path is below one of the roots */
int ask_mode(const Ask *a, const struct seccomp_notif *q);              /* a call about mode, times or owner: 0 or an
                                                                         * errno */
void ask_tell(Ask *a, const struct seccomp_notif *q);                   /* a call that names files: records what will be
                                                                         * denied */
void ask_tell_socket(Ask *a, const struct seccomp_notif *q);
