/* Private to memory.h: counters of the whole machine. Their growth since a call began bounds the memory that the call can hold without any process
 * showing it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct MemoryMachine {
    uint64_t shared;                    /* bytes of shared memory and of files in memory */
    uint64_t sockets;                   /* number of sockets */
    uint64_t network;                   /* bytes that TCP and UDP hold */
} MemoryMachine;

void memory_machine_read(MemoryMachine *out);
/* `now` minus the smallest value of each counter so far, which *least keeps: other programs may free some in the meantime. */
MemoryMachine memory_machine_growth(MemoryMachine *least, const MemoryMachine *now);

uint64_t memory_machine_number(const char *path);      /* the first number in a file of /proc; 0 when there is none */
bool memory_machine_text(const char *path, char *out, size_t size);     /* NUL-terminated; false: missing or empty */
/* Number of lines of a file of /proc that begin with `start`; stops at `most`. */
uint64_t memory_machine_lines(const char *path, const char *start, uint64_t most);
