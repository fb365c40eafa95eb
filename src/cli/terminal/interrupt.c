#include "cli/terminal/interrupt.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/terminal/keys.h"
#include "cli/terminal/screen.h"

enum { ABANDON_MS = 10000, AGAIN_MS = 2000 };

struct Interrupt {
    Cancel *cancel;
    _Atomic(const char *) last_words;
    _Atomic(InterruptLast *) last;
    void *last_ctx;                      /* written before `last` */
    pthread_t thread;
    int signals, stop;
    atomic_int got;
    sigset_t before;
};

static atomic_bool ended;                /* see interrupt_ended */

bool interrupt_ended(void) { return atomic_load(&ended); }

static _Noreturn void leave(Interrupt *i) {
    InterruptLast *last = atomic_load(&i->last);
    const char *words = atomic_load(&i->last_words);
    if (last) last(i->last_ctx);
    keys_restore();
    screen_abandon();
    if (words) (void)!write(STDERR_FILENO, words, strlen(words));
    _exit(CLI_INTERRUPTED);
}

static void *watch(void *arg) {
    Interrupt *i = arg;
    bool hung_up = false;
    for (;;) {
        struct pollfd fds[] = { { i->signals, POLLIN, 0 }, { i->stop, POLLIN, 0 } };
        if (poll(fds, 2, -1) < 0) continue;
        if (fds[1].revents) return NULL;
        struct signalfd_siginfo info;
        if (read(i->signals, &info, sizeof info) != (ssize_t)sizeof info) continue;
        if (info.ssi_signo != SIGINT) atomic_store(&ended, true);
        if (info.ssi_signo == SIGHUP && hung_up) continue;
        hung_up = hung_up || info.ssi_signo == SIGHUP;
        if (atomic_exchange(&i->got, (int)info.ssi_signo)) leave(i);
        cancel_fire(i->cancel);
    }
}

static void release(Interrupt *i) {
    if (i->signals >= 0) close(i->signals);
    if (i->stop >= 0) close(i->stop);
    pthread_sigmask(SIG_SETMASK, &i->before, NULL);
    free(i);
}

/* An ignored signal (nohup) stays ignored. */
static void add_unless_ignored(sigset_t *set, int signal) {
    struct sigaction now;
    if (sigaction(signal, NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(set, signal);
}

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO, SIGPWR };

Interrupt *interrupt_start(Cancel *cancel) {
    Interrupt *i = mem_zero(1, sizeof *i);
    sigset_t set;
    sigemptyset(&set);
    for (size_t k = 0; k < sizeof ending / sizeof *ending; k++) add_unless_ignored(&set, ending[k]);
    i->cancel = cancel;
    pthread_sigmask(SIG_BLOCK, &set, &i->before);
    i->signals = signalfd(-1, &set, SFD_CLOEXEC);
    i->stop = eventfd(0, EFD_CLOEXEC);
    if (i->signals >= 0 && i->stop >= 0 && pthread_create(&i->thread, NULL, watch, i) == 0) return i;
    release(i);
    return NULL;
}

void interrupt_last_words(Interrupt *i, const char *text) {
    if (i) atomic_store(&i->last_words, text);
}

void interrupt_last(Interrupt *i, InterruptLast *last, void *ctx) {
    if (!i) return;
    i->last_ctx = ctx;
    atomic_store(&i->last, last);
}

static void abandon(void *ctx) { (void)runtime_abandon(ctx, ABANDON_MS); }

void interrupt_runtime(Interrupt *i, Runtime *rt) {
    if (rt) interrupt_last(i, abandon, rt);
}

int interrupt_stop(Interrupt *i) {
    if (!i) return 0;
    uint64_t one = 1;
    (void)!write(i->stop, &one, sizeof one);
    pthread_join(i->thread, NULL);
    int got = atomic_load(&i->got);
    release(i);
    return got;
}

bool interrupt_again(InterruptTwice *t, bool typed) {
    int64_t now = clock_mono_ns();
    bool again = !typed && t->last_ns && now - t->last_ns < AGAIN_MS * INT64_C(1000000);
    t->last_ns = now;
    return again;
}
