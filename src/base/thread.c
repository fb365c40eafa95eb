#include "base/thread.h"
#include <errno.h>
#include <signal.h>
#include <time.h>
#include "base/fault.h"

int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg) {
    sigset_t all, before;
    if (fault_hit()) return EAGAIN;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(out, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void thread_cond_init(pthread_cond_t *c) {
    pthread_condattr_t mono;
    pthread_condattr_init(&mono);
    pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
    pthread_cond_init(c, &mono);
    pthread_condattr_destroy(&mono);
}

bool thread_cond_wait(pthread_cond_t *c, pthread_mutex_t *held, int64_t until_ns) {
    return pthread_cond_timedwait(c, held, &(struct timespec){ until_ns / 1000000000, until_ns % 1000000000 }) != ETIMEDOUT;
}
