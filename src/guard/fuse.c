/* The process must end with an answer. A timer and handlers of fatal signals write a refusal that was prepared before. Only
 * the one that changes the state from OPEN writes. The prepared bytes are double-buffered, so a handler never reads bytes that are being changed. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>
#include "guard/guard.h"

enum { CAUSE_DEADLINE, CAUSE_CRASH, CAUSES };
enum { OUT_MAX = 4096, ERR_MAX = 1024, STACK_BYTES = 64 << 10, REFUSED = 2 };
typedef struct Prepared { size_t out_n, err_n; int status; char out[OUT_MAX], err[ERR_MAX]; } Prepared;

typedef enum { STATE_OPEN, STATE_WRITING, STATE_WRITTEN } State;
static Prepared prepared[2][CAUSES];
static atomic_int current, state, final_status;
static pid_t owner;                      /* children of fork must not answer */
static char handler_stack[STACK_BYTES];

static const char *const reasons[CAUSES] = { [CAUSE_DEADLINE] = "harness guard did not decide in time", [CAUSE_CRASH] = "harness guard ended unexpectedly" };

/* Waits while the pipe is full; false if the bytes could not be written. Safe in a signal handler. */
static bool write_all(int fd, const char *at, size_t n) {
    while (n > 0) {
        ssize_t done = write(fd, at, n);
        if (done > 0) {
            at += done;
            n -= (size_t)done;
        } else if (done < 0 && errno == EAGAIN) {
            struct pollfd p = { .fd = fd, .events = POLLOUT };
            (void)poll(&p, 1, 1000);
        } else if (done == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static void on_signal(int number) {
    int open = STATE_OPEN;
    if (getpid() != owner) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
        return;
    }
    if (!atomic_compare_exchange_strong(&state, &open, STATE_WRITING)) _exit(open == STATE_WRITTEN ? atomic_load(&final_status) : REFUSED);
    const Prepared *p = &prepared[atomic_load(&current)][number == SIGALRM ? CAUSE_DEADLINE : CAUSE_CRASH];
    bool ok = write_all(STDOUT_FILENO, p->out, p->out_n);
    (void)write_all(STDERR_FILENO, p->err, p->err_n);
    _exit(ok ? p->status : REFUSED);
}

static void prepare(const GuardEnvelope *e, Prepared *p, const char *reason) {
    GuardAnswer a;
    guard_answer(e, GUARD_DENY, str_from(reason), VALUE_GONE, &a);
    *p = (Prepared){ .status = a.status };
    if (a.out.n <= OUT_MAX) {
        if (a.out.n) memcpy(p->out, a.out.at, a.out.n);
        p->out_n = a.out.n;
    } else {
        p->status = REFUSED;
    }
    p->err_n = a.err.n < ERR_MAX ? a.err.n : ERR_MAX;
    memcpy(p->err, a.err.at, p->err_n);
    guard_answer_clear(&a);
}

void guard_fuse_prepare(const GuardEnvelope *e) {
    int next = !atomic_load(&current);
    for (int i = 0; i < CAUSES; i++) prepare(e, &prepared[next][i], reasons[i]);
    atomic_store(&current, next);
}

static void handle(int number) {
    struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
    sigfillset(&a.sa_mask);
    sigaction(number, &a, NULL);
}

static void start_timer(int64_t ms) {
    struct itimerval t = { .it_value = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 } };
    setitimer(ITIMER_REAL, &t, NULL);
}

void guard_fuse_arm(Vendor vendor, int64_t deadline_ms) {
    static const int numbers[] = { SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2,
                                   SIGXCPU, SIGVTALRM, SIGPROF, SIGIO, SIGSTKFLT, SIGPWR };
    stack_t stack = { .ss_sp = handler_stack, .ss_size = sizeof handler_stack };
    sigset_t none;
    owner = getpid();
    for (int i = 0; i < CAUSES; i++) {                   /* before anything else can fail: no JSON, and the exit status of a refusal */
        Prepared *p = &prepared[0][i];
        p->status = REFUSED;
        p->err_n = (size_t)snprintf(p->err, ERR_MAX, "harness guard: %s\n", reasons[i]);
    }
    sigaltstack(&stack, NULL);
    (void)signal(SIGPIPE, SIG_IGN);                      /* write errors are handled */
    (void)signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) handle(numbers[i]);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);               /* the agent may have started us with the timer's signal blocked */
    start_timer(deadline_ms);
    if (vendor != VENDOR_HARNESS) {
        GuardEnvelope e = { .vendor = vendor, .event_name = STR(""), .input = VALUE_GONE, .camel = true };
        const char *first = guard_vendor(vendor)->install;
        e.event_name = (Str){ first, strcspn(first, " ") };
        e.event = guard_event_find(vendor, e.event_name);
        guard_fuse_prepare(&e);
    }
}

void guard_fuse_write(const GuardAnswer *a) {
    int open = STATE_OPEN;
    while (!atomic_compare_exchange_strong(&state, &open, STATE_WRITING)) pause();      /* the handler is writing, and ends the process */
    bool ok = write_all(STDOUT_FILENO, a->out.at, a->out.n);
    if (a->err.n) (void)write_all(STDERR_FILENO, a->err.at, a->err.n);
    if (!ok) (void)write_all(STDERR_FILENO, "harness guard: the answer could not be written\n", 47);
    atomic_store(&final_status, ok ? a->status : REFUSED);
    atomic_store(&state, STATE_WRITTEN);
}

int guard_fuse_status(void) { return atomic_load(&final_status); }
