/* Messages between harness, the launcher and the supervisor of one call: flat, between processes of one program.
 *
 *   request:  RequestHead, the filter's instructions, then the NUL-terminated strings in the order of the lists.
 *             Descriptors: the call's channel, stdin, stdout, stderr, and, for a request too long for one message, a memory
 *             file with the request.
 *   soon:     a message without descriptors: a request will follow, so that the launcher can prepare.
 *   channel:  to the supervisor, RequestEnd; from it, Reply and then `text` bytes. */
#pragma once
#include <linux/filter.h>
#include <sys/types.h>
#include "base/error.h"
#include "base/str.h"

enum { REQUEST_ARGV, REQUEST_ENV, REQUEST_READ, REQUEST_WRITE, REQUEST_PROTECT, REQUEST_HIDDEN, REQUEST_LISTS };
enum { REQUEST_MESSAGE_MAX = 100 << 10, REQUEST_BYTES_MAX = 16 << 20, REQUEST_FDS = 5 };

enum { REQUEST_MOUNTS = 1, REQUEST_USER_NAMESPACE = 2, REQUEST_OWN_PROCESSES = 4 };

typedef struct RequestHead {
    uint32_t mode, net, proxy_port;     /* SandboxMode, SandboxNet */
    uint32_t landlock_abi, filter_variant;
    uint8_t real_home, tell_start;
    uint8_t isolate;                    /* private mounts: REQUEST_MOUNTS and related flags; 0: none */
    uint64_t memory_bytes, file_bytes;
    uint32_t cpu_seconds, open_files, processes;
    int64_t deadline_ns;                /* monotonic; INT64_MAX: none */
    uint32_t filter_n, count[REQUEST_LISTS];
    uint64_t text_bytes;
} RequestHead;

typedef struct Request {
    RequestHead head;
    const struct sock_filter *filter;
    const char *workspace, *cwd, *home; /* home: the real one, "" if unknown */
    const char **list[REQUEST_LISTS];   /* NULL-terminated */
} Request;

void request_write(const Request *r, Buf *out);
bool request_read(Str bytes, Request *out);            /* false: malformed. Points into `bytes`; request_clear() it */
void request_clear(Request *r);

typedef struct RequestEnd { int64_t grace_ms; } RequestEnd;

typedef enum { REPLY_STARTED = 1, REPLY_FAILED, REPLY_ENDED, REPLY_LOST } ReplyKind;
typedef struct Reply {
    ReplyKind kind;
    int status;                         /* as returned by wait() */
    uint8_t timed_out, process_limit, memory_limit, ended_early;
    uint32_t error;                     /* REPLY_FAILED: ErrorKind, and the text is its message. Else the text lists
                                         * what was denied */
    uint32_t text;
} Reply;
enum { REPLY_TEXT_MAX = 8 << 10 };

/* One message with descriptors. request_send: false with errno. request_receive: bytes read, 0 at end of file, -1 with
 * errno; *n_fds is the number received, close-on-exec. */
bool request_send(int socket, Str bytes, const int *fds, size_t n_fds);
ssize_t request_receive(int socket, void *at, size_t size, int fds[REQUEST_FDS], size_t *n_fds, bool wait);
