#include "cli/detached.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Until it detaches, the child dies with its parent. */
static void be_child(Detached *a, const int ends[2], pid_t parent) {
    close(ends[0]);
    *a = (Detached){ .tell = ends[1], .null = open("/dev/null", O_RDWR | O_CLOEXEC) };     /* now, because this process may be restricted later */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(CLI_FAILED);
}

static int be_parent(Cli *cli, int fd, pid_t child) {
    unsigned char told;
    ssize_t n;
    int how = 0;
    signal(SIGINT, SIG_IGN);                             /* a terminal sends the signal to both processes, and the
                                                          * child reports it */
    while ((n = read(fd, &told, 1)) < 0 && errno == EINTR) {}
    if (n == 1) return told;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(how)) return WEXITSTATUS(how);
    Error err = { 0 };
    error_set(&err, ERR_INTERNAL, "the call was ended by signal %d", WTERMSIG(how));
    return cli_fail(cli, CLI_FAILED, &err);
}

bool detached_start(Detached *a, Cli *cli, int *status) {
    int ends[2];
    pid_t self = getpid(), child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (child == 0) return be_child(a, ends, self), false;
    if (child < 0) {
        Error err = { 0 };
        error_set(&err, ERR_IO, "start a process for the call: %m");
        return *status = cli_fail(cli, CLI_FAILED, &err), true;
    }
    close(ends[1]);
    *status = be_parent(cli, ends[0], child);
    close(ends[0]);
    return true;
}

void detached_leave(Detached *a, int status) {
    unsigned char told = (unsigned char)status;
    setsid();
    for (int fd = 0; fd < 3 && a->null >= 0; fd++) (void)dup2(a->null, fd);
    prctl(PR_SET_PDEATHSIG, 0);
    (void)!write(a->tell, &told, 1);
}

void detached_end(Detached *a) {
    if (a->tell >= 0) close(a->tell);
    if (a->null >= 0) close(a->null);
    *a = (Detached){ -1, -1 };
}
