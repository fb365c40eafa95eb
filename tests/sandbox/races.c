/* Two threads against a check: one makes the call, the other changes its arguments. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include "attempt.h"

enum { RACE_MS = 250 };

static atomic_bool over;
static char path_in_memory[4096];
static const char *path_inside = "mine", *path_outside;

static bool on_time(void) {
    static struct timespec from;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!from.tv_sec) from = now;
    return (now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < RACE_MS;
}

/* Runs `ask` repeatedly while `change` runs concurrently. */
static void race(void *(*change)(void *), void (*ask)(void)) {
    pthread_t thread;
    pthread_create(&thread, NULL, change, NULL);
    while (on_time()) ask();
    over = true;
    pthread_join(thread, NULL);
}

static void *swap_links(void *unused) {
    (void)unused;
    while (!over) syscall(SYS_renameat2, AT_FDCWD, "one", AT_FDCWD, "two", 2);
    return NULL;
}

static void look_for_secret(const char *path) {
    char text[200] = "";
    int fd = open(path, O_RDONLY);
    if (fd < 0) return;
    if (read(fd, text, sizeof text - 1) > 0 && strcmp(text, "mine\n") != 0) {
        printf("%s\n", text);
        over = true;
    }
    close(fd);
}
static void open_link(void) { look_for_secret("one"); }
static void open_below(void) { look_for_secret("one/secret"); }
static void write_link(void) {
    int fd = open("one", O_WRONLY);
    if (fd >= 0 && write(fd, "mine\n", 5) < 0) perror("write");
    if (fd >= 0) close(fd);
}

static void race_symlink(void) {
    mean_it();
    if (symlink("mine", "one") < 0 || symlink(out_path("secret"), "two") < 0) perror("symlink");
    race(swap_links, open_link);
}
static void race_symlink_write(void) {
    mean_it();
    if (symlink("mine", "one") < 0 || symlink(out_path("file"), "two") < 0) perror("symlink");
    race(swap_links, write_link);
}
/* A folder turns into a link while the path through it is walked. */
static void race_folder(void) {
    mkdir("one", 0755);
    int fd = open("one/secret", O_CREAT | O_WRONLY, 0644);
    if (write(fd, "mine\n", 5) < 0 || symlink(getenv("OUT"), "two") < 0) perror("make");
    race(swap_links, open_below);
}

static void *swap_text(void *unused) {
    (void)unused;
    while (!over) {
        strcpy(path_in_memory, path_outside);
        strcpy(path_in_memory, path_inside);
    }
    return NULL;
}
static void chmod_memory(void) { (void)!chmod(path_in_memory, 0777); }
static void times_memory(void) {
    struct timespec t[2] = { { 5, 0 }, { 5, 0 } };
    (void)!utimensat(AT_FDCWD, path_in_memory, t, 0);
}
static void open_memory(void) { look_for_secret(path_in_memory); }
static void rename_memory(void) {
    mean_it();
    (void)!rename(path_in_memory, "moved");
    look_for_secret("moved");
}

static void race_text(void (*ask)(void), const char *target) {
    static char inside[4096];
    mean_it();
    path_outside = out_path(target);
    /* of equal length, so that a mix of both is never a third valid path */
    snprintf(inside, sizeof inside, "mine");
    path_inside = inside;
    race(swap_text, ask);
}
static void race_chmod_memory(void) { race_text(chmod_memory, "file"); }
static void race_times_memory(void) { race_text(times_memory, "file"); }
static void race_open_memory(void) { race_text(open_memory, "secret"); }
static void race_rename_memory(void) { race_text(rename_memory, "secret"); }

static void chmod_one(void) { (void)!chmod("one", 0777); }
static void race_chmod_link(void) {
    mean_it();
    if (symlink("mine", "one") < 0 || symlink(out_path("file"), "two") < 0) perror("symlink");
    race(swap_links, chmod_one);
}

/* A descriptor's number is reused for another file while the call on it waits. */
static int number_of_file, inside_file, outside_file;
static void *swap_descriptor(void *unused) {
    (void)unused;
    while (!over) {
        dup2(outside_file, number_of_file);
        dup2(inside_file, number_of_file);
    }
    return NULL;
}
static void chmod_descriptor(void) {
    (void)!fchmod(number_of_file, 0777);
    (void)!syscall(SYS_fchmodat, number_of_file, "file", 0777);
}
static void race_chmod_descriptor(void) {
    int fd = open("file", O_CREAT | O_WRONLY, 0644);
    inside_file = open(".", O_RDONLY | O_DIRECTORY);
    outside_file = open(getenv("OUT"), O_PATH | O_DIRECTORY);
    number_of_file = dup(inside_file);
    close(fd);
    race(swap_descriptor, chmod_descriptor);
}

const Attempt race_attempts[] = {
    { "race-symlink", race_symlink }, { "race-symlink-write", race_symlink_write }, { "race-folder", race_folder },
    { "race-chmod-memory", race_chmod_memory }, { "race-times-memory", race_times_memory }, { "race-open-memory", race_open_memory },
    { "race-rename-memory", race_rename_memory }, { "race-chmod-link", race_chmod_link },
    { "race-chmod-descriptor", race_chmod_descriptor }, { NULL, NULL },
};
