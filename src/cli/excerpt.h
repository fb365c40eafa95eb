/* The source line of a problem, with a caret below its column:
 *
 *        4 |       import os
 *          |       ^
 *
 * Files are read below the project's folder, as the loader reads them: regular files only, no links that lead out. Text is escaped and credentials are
 * masked; a line that may hold one of any form (below env, headers, …) is not shown. A long line is cut around the column. */
#pragma once
#include "artifact/problem.h"
#include "cli/cli.h"

typedef struct Excerpt {
    const Cli *cli;
    int root_fd;                         /* -1: the folder cannot be opened, and nothing is shown */
    char *file;                          /* the file whose text is cached; NULL: none */
    Buf text;
    size_t width;                        /* columns of a line */
    size_t shown;                        /* problems so far; after 50, only their messages are shown */
} Excerpt;

void excerpt_open(Excerpt *e, Cli *cli);
/* Appends two lines; nothing if the problem has no line, or it cannot be read. */
void excerpt_add(Excerpt *e, const Problem *p, Buf *out);
void excerpt_close(Excerpt *e);

/* The two lines for a text: the line `number`, with the caret below character `column`. */
void excerpt_write(const Cli *cli, Str line, uint32_t number, uint32_t column, size_t width, Buf *out);
