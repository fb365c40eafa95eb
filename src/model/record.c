/* --record FILE: forwards everything to another model and records requests and replies. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "model/provider.h"
#include "model/tape.h"

typedef struct Recorder {
    Model *inner;
    int fd;
    pthread_mutex_t lock;
    void (*redact)(void *ctx, Buf *text);
    void *ctx;
} Recorder;

static bool write_line(Recorder *r, Str line, Error *err) {
    pthread_mutex_lock(&r->lock);
    bool ok = true;
    while (ok && line.n) {
        ssize_t n = write(r->fd, line.at, line.n);
        if (n < 0) ok = error_set(err, ERR_IO, "write the recording: %m");
        else line = str_sub(line, (size_t)n, line.n);
    }
    pthread_mutex_unlock(&r->lock);
    return ok;
}

static bool complete(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry, int64_t *wait_ms, Error *err) {
    (void)retry;                          /* the inner model has retried already */
    (void)wait_ms;
    Recorder *r = m->data;
    if (!model_complete(r->inner, request, cancel, out, err)) return false;
    Buf line = { 0 };
    buf_add(&line, STR("{\"request\":"));
    tape_request(request, &line);
    buf_add(&line, STR(",\"reply\":"));
    bool ok = tape_reply(out, &line, err);
    buf_add_char(&line, '}');
    if (r->redact) r->redact(r->ctx, &line);
    buf_add_char(&line, '\n');
    ok = ok && write_line(r, buf_str(&line), err);
    buf_clear(&line);
    return ok;
}

static void close_recorder(Model *m) {
    Recorder *r = m->data;
    model_free(r->inner);
    close(r->fd);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static const Provider provider_record = { "record", NULL, NULL, complete, close_recorder };

Model *model_record(Model *inner, int fd, void (*redact)(void *ctx, Buf *text), void *ctx) {
    Recorder *r = mem_zero(1, sizeof *r);
    *r = (Recorder){ .inner = inner, .fd = fd, .redact = redact, .ctx = ctx };
    pthread_mutex_init(&r->lock, NULL);
    Model *m = mem_zero(1, sizeof *m);
    *m = (Model){ .provider = &provider_record, .def = inner->def, .env = inner->env, .origin = inner->origin, .wire = inner->wire,
        .takes = inner->takes, .attempts = 1, .data = r };
    return m;
}
