/* The entries of mcp_servers in the project's file, which mcp add and mcp remove edit without changing another byte. */
#pragma once
#include "cli/cli.h"
#include "artifact/project.h"

typedef struct McpEntryFile { char path[4096]; bool yaml, exists; } McpEntryFile;

/* The position of mcp_servers in the frontmatter. Offsets into the text. */
typedef struct McpEntryPlaces {
    size_t end;                  /* of the frontmatter: before its closing line */
    size_t key, key_end;         /* the line "mcp_servers:" */
    size_t block_end;            /* after the last line below it */
    Str step;                    /* the indentation of its entries */
    bool found;
    Str rest;                    /* after the colon, on the same line */
} McpEntryPlaces;

void mcp_entry_file(const Project *p, McpEntryFile *out);      /* the project's file, or harness.md if there is none yet */
void mcp_entry_look(const McpEntryFile *f, Str text, McpEntryPlaces *out);
bool mcp_entry_is_block(Str rest);                             /* false: mcp_servers is written in one line */
bool mcp_entry_write(const char *path, Str text, Error *err);  /* whole or not at all; keeps the mode */
bool mcp_entry_has(const Project *p, Str server);

/* Keeps the project trusted after a command of the user edited it, if it was trusted or needed no trust before. */
bool mcp_entry_trusted(Cli *cli, bool *out, Error *err);
bool mcp_entry_keep_trust(Cli *cli, Error *err);
