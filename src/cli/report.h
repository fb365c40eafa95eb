/* Loads a project for a command, and reports its problems. */
#pragma once
#include "artifact/project.h"
#include "cli/cli.h"

/* record_load() for a command: shows its warnings, and adds its failure to the problems. */
bool report_door(Cli *cli, bool reading, const ProjectInput *in, Project **out, Problems *problems);
/* Loads the project of this folder or of --config, read-only. `problems` must be zero; clear it afterwards. */
bool report_load(Cli *cli, bool strict, Project **out, Problems *problems);

/* All problems on standard error, "harness: FILE:LINE:COL: MESSAGE (HINT)", errors with the line of the file (excerpt.h); warnings and hints are
 * marked at the end. */
void report_problems(Cli *cli, const Problems *problems);
/* Tells the user what to do when the folder contains no project. */
void report_nothing(const Cli *cli, const Project *p);
void report_count(Buf *out, size_t n, const char *noun);           /* "1 tool", "2 tools" */
void report_age(Buf *out, int64_t since_ns);                       /* "5 min": the time since then (clock_wall_ns) */

/* For commands that need a valid project: loads it or reports every error (with --json, the first one as {"error": …}).
 * Warnings are left to validate. NULL: the command returns CLI_FAILED. */
Project *report_project(Cli *cli);
void report_failure(Cli *cli, const Problems *problems);          /* what report_project does when loading fails. On a terminal with the lines
                                                                   * of the files */
