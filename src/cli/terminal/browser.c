#include "cli/terminal/browser.h"
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "cli/cli.h"

enum { WORDS_MAX = 32 };

static void *wait_for(void *pid) {
    waitpid((pid_t)(intptr_t)pid, NULL, 0);
    return NULL;
}

/* Hides its output, which would mix with ours; a thread waits for its exit, since browsers may keep running. */
static bool start(char *const *argv) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    bool ok = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    pthread_t thread;
    if (ok && pthread_create(&thread, NULL, wait_for, (void *)(intptr_t)pid) == 0) pthread_detach(thread);
    return ok;
}

bool browser_start(Str url) {
    const char *browser = getenv("BROWSER");
    bool display = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
    if (!browser || !browser[0]) browser = display ? "xdg-open" : "";
    Arena arena = { 0 };
    char *argv[WORDS_MAX + 2], *rest = arena_fmt(&arena, "%s", browser), *word, *address = arena_fmt(&arena, STR_FMT, STR_ARG(url));
    size_t n = 0;
    bool placed = false;
    while (n < WORDS_MAX && (word = strsep(&rest, " ")))
        if (word[0]) argv[n++] = strcmp(word, "%s") == 0 ? (placed = true, address) : word;
    if (n && !placed) argv[n++] = address;
    argv[n] = NULL;
    bool ok = n && start(argv);
    if (n && !ok) fprintf(stderr, "cannot start %s.\n", argv[0]);
    arena_clear(&arena);
    return ok;
}

bool browser_open(void *ctx, Str url, Error *err) {
    (void)ctx;
    (void)err;
    Buf text = { 0 };
    buf_add(&text, STR("To authorize, open this address in a browser:\n"));
    cli_escape_all(&text, url, false);
    buf_add_char(&text, '\n');
    (void)cli_write(STDERR_FILENO, buf_str(&text), false);
    buf_clear(&text);
    (void)browser_start(url);                              /* the address was printed: the user can open it anyway */
    return true;
}
