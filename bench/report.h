/* The line that a bench program prints for each measurement: NAME ours peer ratio. Above 1, ours is better. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* unit: "us", "ms", "MB" (less is better) or "/s" (more is). A peer of 0 or less is not installed. */
static inline void report_line(const char *name, double ours, double peer, const char *unit) {
    bool more = strcmp(unit, "/s") == 0;
    if (peer > 0) printf("%s %.4f%s %.4f%s %.2fx\n", name, ours, unit, peer, unit, more ? ours / peer : peer / ours);
    else printf("%s %.4f%s missing -\n", name, ours, unit);
    fflush(stdout);
}
