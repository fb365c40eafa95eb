/* Loading a project for a command, and telling what is wrong with it. */
#pragma once
#include "artifact/project.h"
#include "cli/cli.h"

/* record_load() for a command, with its warnings told and its failure among the problems. */
bool report_door(Cli *cli, bool reading, const ProjectInput *in, Project **out, Problems *problems);
/* Loads the project of this folder or of --config, for reading. `problems` must be zero; clear it afterwards. */
bool report_load(Cli *cli, bool strict, Project **out, Problems *problems);

/* All problems on standard error, "harness: FILE:LINE:COL: MESSAGE (HINT)"; warnings and hints say so at the end. */
void report_problems(const Cli *cli, const Problems *problems);
/* Says so, with what to do, when the folder holds nothing that makes a project. */
void report_nothing(const Cli *cli, const Project *p);
void report_count(Buf *out, size_t n, const char *noun);           /* "1 tool", "2 tools" */

/* For commands that need a sound project: loads it or reports every error (with --json, the first one as
 * {"error": …}). Warnings are left to validate. NULL: the command returns CLI_FAILED. */
Project *report_project(Cli *cli);
void report_failure(Cli *cli, const Problems *problems);          /* what report_project does when loading fails */
