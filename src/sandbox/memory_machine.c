#include "sandbox/memory_machine.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KIB = 1024, PAGE = 4096 };

bool memory_machine_text(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, out, size - 1);
    close(fd);
    out[n < 0 ? 0 : n] = 0;
    return n > 0;
}

uint64_t memory_machine_number(const char *path) {
    char text[64];
    return memory_machine_text(path, text, sizeof text) ? strtoull(text, NULL, 10) : 0;
}

uint64_t memory_machine_lines(const char *path, const char *start, uint64_t most) {
    FILE *f = fopen(path, "re");
    char line[256];
    uint64_t n = 0;
    size_t length = strlen(start);
    bool begins = true;
    while (f && n < most && fgets(line, sizeof line, f)) {
        n += begins && strncmp(line, start, length) == 0;
        begins = strchr(line, '\n') != NULL;             /* a line can be longer than this one */
    }
    if (f) fclose(f);
    return n;
}

static uint64_t number_after(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* "TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 22": pages. */
static uint64_t held_by_protocol(const char *text, const char *name) {
    const char *line = strstr(text, name);
    return line ? number_after(line, " mem ") * PAGE : 0;
}

void memory_machine_read(MemoryMachine *out) {
    char text[4096];
    *out = (MemoryMachine){ 0 };
    if (memory_machine_text("/proc/meminfo", text, sizeof text)) out->shared = number_after(text, "\nShmem:") * KIB;
    if (!memory_machine_text("/proc/net/sockstat", text, sizeof text)) return;
    out->sockets = number_after(text, "sockets: used ");
    out->network = held_by_protocol(text, "\nTCP:") + held_by_protocol(text, "\nUDP:");
}

static uint64_t grown(uint64_t *least, uint64_t now) {
    if (now < *least) *least = now;
    return now - *least;
}

MemoryMachine memory_machine_growth(MemoryMachine *least, const MemoryMachine *now) {
    return (MemoryMachine){ .shared = grown(&least->shared, now->shared), .sockets = grown(&least->sockets, now->sockets),
                            .network = grown(&least->network, now->network) };
}
