/* Other processes: their memory, descriptors, environment, limits, messages; and signals. */
#define _GNU_SOURCE
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include "attempt.h"

enum { SECRET_FD = 100, SECRET_SIZE = 4096, KEYS = 0x68000000 };
#define SECRET_AT ((char *)0x10000000)                  /* address of the victim's secret */

static key_t key(void) { return (key_t)(KEYS + number("VICTIM")); }
static const char *queue_name(void) {
    static char name[40];
    snprintf(name, sizeof name, "/harness-%d", number("VICTIM"));
    return name;
}

/* ---- the victim ---- */

typedef struct Message { long type; char text[100]; } Message;

/* Its folder has a file "secret". SIGTERM from its parent ends it, after it has removed its queues and segments; it
 * reports signals from any other process. */
int victim_main(const char *folder) {
    char text[8];
    Message m = { 1, "" };
    snprintf(text, sizeof text, "%d", (int)getpid());
    setenv("VICTIM", text, 1);
    if (chdir(folder) < 0) return 1;
    int fd = open("secret", O_RDWR);
    dup2(fd, SECRET_FD);
    char *at = mmap(SECRET_AT, SECRET_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (at == MAP_FAILED || read(fd, at, SECRET_SIZE - 1) < 0) return 1;
    snprintf(m.text, sizeof m.text, "%s", at);
    struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = sizeof m.text };
    mqd_t queue = mq_open(queue_name(), O_CREAT | O_RDWR, 0600, &attr);
    if (queue >= 0) mq_send(queue, m.text, sizeof m.text, 0);
    int messages = msgget(key(), IPC_CREAT | 0600), memory = shmget(key(), SECRET_SIZE, IPC_CREAT | 0600), sems = semget(key(), 1, IPC_CREAT | 0600);
    msgsnd(messages, &m, sizeof m.text, 0);
    char *shared = shmat(memory, NULL, 0);
    if (shared != (char *)-1) strcpy(shared, at);
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigaddset(&end, SIGURG);
    sigprocmask(SIG_BLOCK, &end, NULL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    printf("ready\n");
    fflush(stdout);
    for (siginfo_t from; sigwaitinfo(&end, &from) == SIGURG || from.si_pid != getppid();) {
        printf("signalled\n");
        fflush(stdout);
    }
    mq_unlink(queue_name());
    msgctl(messages, IPC_RMID, NULL);
    shmctl(memory, IPC_RMID, NULL);
    semctl(sems, 0, IPC_RMID);
    return 0;
}

/* ---- reading ---- */

static void memory_file(const char *who) {
    char path[60], text[200] = "";
    snprintf(path, sizeof path, "/proc/%d/mem", number(who));
    int fd = open(path, O_RDONLY);
    if (fd >= 0 && pread(fd, text, sizeof text - 1, (off_t)(uintptr_t)SECRET_AT) > 0) puts(text);
    else printf("stopped, %s\n", strerror(errno));
}
static void proc_mem(void) { memory_file("VICTIM"); }
static void proc_mem_write(void) {
    char path[60];
    snprintf(path, sizeof path, "/proc/%d/mem", number("VICTIM"));
    int fd = open(path, O_RDWR);
    want("write", fd < 0 ? -1 : pwrite(fd, "S", 1, (off_t)(uintptr_t)SECRET_AT));
}
static void proc_mem_supervisor(void) {
    char path[60];
    snprintf(path, sizeof path, "/proc/%d/mem", number("SUPERVISOR"));
    want("open", open(path, O_RDONLY));
}
static void vm_read(void) {
    char text[200] = "";
    struct iovec here = { text, sizeof text - 1 }, there = { SECRET_AT, sizeof text - 1 };
    if (process_vm_readv(number("VICTIM"), &here, 1, &there, 1, 0) < 0) perror("process_vm_readv");
    puts(text);
}
static void vm_write(void) {
    char text[] = "S";
    struct iovec here = { text, 1 }, there = { SECRET_AT, 1 };
    want("process_vm_writev", process_vm_writev(number("VICTIM"), &here, 1, &there, 1, 0));
}
static void vm_advise(void) {
    struct iovec there = { SECRET_AT, SECRET_SIZE };
    int fd = (int)syscall(SYS_pidfd_open, number("VICTIM"), 0);
    want("process_madvise", syscall(SYS_process_madvise, fd, &there, 1, 20 /* MADV_COLD */, 0));
}
static void descriptor_of_other(void) {
    int process = (int)syscall(SYS_pidfd_open, number("VICTIM"), 0), fd = (int)syscall(SYS_pidfd_getfd, process, SECRET_FD, 0);
    if (fd >= 0) lseek(fd, 0, SEEK_SET);
    show(fd);
}
static void descriptor_of_supervisor(void) {
    int process = (int)syscall(SYS_pidfd_open, number("SUPERVISOR"), 0);
    for (int fd = 3; fd < 20; fd++)
        if (syscall(SYS_pidfd_getfd, process, fd, 0) >= 0) say_escaped("a descriptor of the supervisor");
}
static void compare(void) { want("kcmp", syscall(SYS_kcmp, getpid(), number("VICTIM"), 2, 0, 0)); }

static void trace(void) {
    pid_t victim = number("VICTIM");
    long rc = ptrace(PTRACE_ATTACH, victim, 0, 0);
    want("attach", rc);
    if (rc < 0) return;
    waitpid(victim, NULL, 0);
    ptrace(PTRACE_DETACH, victim, 0, 0);
}
static void trace_seize(void) { want("seize", ptrace(PTRACE_SEIZE, number("VICTIM"), 0, 0)); }
static void trace_supervisor(void) { want("seize", ptrace(PTRACE_SEIZE, number("SUPERVISOR"), 0, 0)); }
static void trace_me(void) { want("traceme", ptrace(PTRACE_TRACEME, 0, 0, 0)); }

/* ---- objects of the machine ---- */

static void message_queue(void) {
    char text[200] = "";
    mqd_t q = mq_open(queue_name(), O_RDWR);
    if (q < 0 || mq_receive(q, text, sizeof text, NULL) < 0) perror("mq");
    puts(text);
    if (*text) mq_send(q, text, 100, 0);                 /* for the next receiver */
}
static void message_queue_unlink(void) { want("mq_unlink", mq_unlink(queue_name())); }
static void sysv_memory(void) {
    char *at = shmat(shmget(key(), SECRET_SIZE, 0), NULL, SHM_RDONLY);
    if (at == (char *)-1) perror("shmat");
    else puts(at);
}
static void sysv_messages(void) {
    Message m = { 0 };
    int q = msgget(key(), 0);
    if (msgrcv(q, &m, sizeof m.text, 0, IPC_NOWAIT) < 0) perror("msgrcv");
    else msgsnd(q, &m, sizeof m.text, IPC_NOWAIT);
    puts(m.text);
}
static void sysv_semaphore(void) {
    struct sembuf up = { 0, 1, IPC_NOWAIT };
    want("semop", semop(semget(key(), 1, 0), &up, 1));
}

/* ---- limits and priorities ---- */

static void limit(const char *who) {
    struct rlimit none = { 0, 0 };
    want("core files", prlimit(number(who), RLIMIT_CORE, &none, NULL));
}
static void limit_other(void) { limit("VICTIM"); }
static void limit_supervisor(void) {
    struct rlimit none = { 1, 1 };
    want("CPU time", prlimit(number("SUPERVISOR"), RLIMIT_CPU, &none, NULL));
}
static void limit_raise(void) {
    struct rlimit now, more;
    getrlimit(RLIMIT_NOFILE, &now);
    more = (struct rlimit){ now.rlim_max + 1, now.rlim_max + 1 };
    want("open files", setrlimit(RLIMIT_NOFILE, &more));
}
static void priority(void) {
    want("setpriority", setpriority(PRIO_PROCESS, (id_t)number("VICTIM"), 3));
    want("of the supervisor", setpriority(PRIO_PROCESS, (id_t)number("SUPERVISOR"), 3));
}
static void priority_user(void) { want("setpriority", setpriority(PRIO_USER, getuid(), getpriority(PRIO_PROCESS, 0))); }
static void priority_io(void) { want("ioprio_set", syscall(SYS_ioprio_set, 1, number("VICTIM"), 2 << 13 | 7)); }
static void processors(void) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    want("sched_setaffinity", sched_setaffinity(number("VICTIM"), sizeof set, &set));
}
static void scheduler(void) {
    struct sched_param p = { 0 };
    want("sched_setscheduler", sched_setscheduler(number("VICTIM"), SCHED_BATCH, &p));
    want("sched_setparam", sched_setparam(number("VICTIM"), &p));
}
static void scheduler_real_time(void) {
    struct sched_param p = { 1 };
    want("sched_setscheduler", sched_setscheduler(0, SCHED_FIFO, &p));
}

/* ---- signals ---- */

static void signal_other(void) { want("kill", kill(number("VICTIM"), SIGURG)); }
static void signal_zero(void) { want("kill", kill(number("VICTIM"), 0)); }
static void signal_group(void) {
    pid_t group = getpgid(number("VICTIM"));
    want("kill", group < 0 ? -1 : kill(-group, SIGURG));
}
static void signal_thread(void) {
    want("tkill", syscall(SYS_tkill, number("VICTIM"), SIGURG));
    want("tgkill", syscall(SYS_tgkill, number("VICTIM"), number("VICTIM"), SIGURG));
}
static void signal_queue(void) { want("sigqueue", sigqueue(number("VICTIM"), SIGURG, (union sigval){ 0 })); }
static void signal_pidfd(void) {
    int fd = (int)syscall(SYS_pidfd_open, number("VICTIM"), 0);
    want("pidfd_send_signal", syscall(SYS_pidfd_send_signal, fd, SIGURG, NULL, 0));
}
static void signal_supervisor(void) {
    if (number("SUPERVISOR") == number("VICTIM")) {      /* there is none without a sandbox */
        want("kill", kill(number("VICTIM"), SIGURG));
        return;
    }
    (void)kill(number("SUPERVISOR"), SIGKILL);           /* succeeds in a process namespace, without effect */
    (void)kill(number("SUPERVISOR"), SIGSTOP);
    usleep(300000);
    if (getppid() == 1 && number("SUPERVISOR") != 1) say_escaped("left behind");
}

/* The kernel sends a signal for us when the pipe can be read. */
static void signal_by_descriptor(void) {
    int ends[2];
    if (pipe(ends) < 0) perror("pipe");
    long rc = fcntl(ends[0], F_SETOWN, number("VICTIM"));
    if (rc == 0) rc = fcntl(ends[0], F_SETSIG, SIGURG);
    if (rc == 0) rc = fcntl(ends[0], F_SETFL, O_ASYNC);
    if (rc < 0) perror("fcntl");
    if (write(ends[1], "x", 1) < 0) perror("write");
}
/* Uses our exit signal to signal our new parent. */
static void signal_by_exit(void) {
    long child = syscall(SYS_clone, CLONE_PARENT | SIGKILL, NULL, NULL, NULL, NULL);
    if (child == 0) _exit(0);
    usleep(100000);
}
/* If it succeeds, the whole test run ends, which shows it. */
static void signal_by_pidfd(void) {
    int fd = (int)syscall(SYS_pidfd_open, number("SUPERVISOR"), 0);
    (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    (void)syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0);
    usleep(100000);
}

const Attempt process_attempts[] = {
    { "memory-file", proc_mem }, { "memory-file-write", proc_mem_write }, { "memory-file-supervisor", proc_mem_supervisor },
    { "process-vm-read", vm_read }, { "process-vm-write", vm_write }, { "process-madvise", vm_advise },
    { "pidfd-getfd", descriptor_of_other }, { "pidfd-getfd-supervisor", descriptor_of_supervisor }, { "kcmp", compare },
    { "ptrace-attach", trace }, { "ptrace-seize", trace_seize }, { "ptrace-supervisor", trace_supervisor }, { "ptrace-me", trace_me },
    { "message-queue", message_queue }, { "message-queue-unlink", message_queue_unlink }, { "sysv-memory", sysv_memory }, { "sysv-messages", sysv_messages },
    { "sysv-semaphore", sysv_semaphore }, { "limit-other", limit_other }, { "limit-supervisor", limit_supervisor },
    { "limit-raise", limit_raise }, { "priority", priority }, { "priority-user", priority_user }, { "priority-io", priority_io },
    { "processors", processors }, { "scheduler", scheduler }, { "scheduler-real-time", scheduler_real_time },
    { "signal", signal_other }, { "signal-zero", signal_zero }, { "signal-group", signal_group }, { "signal-thread", signal_thread },
    { "signal-queue", signal_queue }, { "signal-pidfd", signal_pidfd }, { "signal-supervisor", signal_supervisor },
    { "signal-by-descriptor", signal_by_descriptor }, { "signal-by-exit", signal_by_exit }, { "signal-by-pidfd", signal_by_pidfd },
    { NULL, NULL },
};
