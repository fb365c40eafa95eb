/* harness test: each test in a process of its own, in a copy of the workspace; and telling how they ended. */
#pragma once
#include "agent/trial.h"
#include "cli/opening.h"

/* What is the same for all tests of a command. */
typedef struct TestPlace {
    const Project *project;              /* as it was loaded where it is */
    RuntimeConfig config;                /* of the flags */
    const char *source;                  /* the folder to copy: the workspace with the project in it */
    const char *below;                   /* the project's folder in it; "" when it is the same */
    const char *name;                    /* of the copy: the source's own, as prompts may show it */
    const char *project_file;            /* -c: relative to the project's folder; NULL: look for it */
    int events;                          /* --events; -1: none */
} TestPlace;

typedef struct TestRun {
    const TestDef *def;
    bool passed;
    int64_t elapsed_ns;
    VEC(TrialFailure) failures;          /* texts live in the suite's arena */
    /* while it runs */
    pid_t pid;                           /* 0: not running */
    int pipe;                            /* the child's report comes here */
    int64_t start_ns;
    Buf report;
    char folder[256];                    /* temporary, with the copy in it */
} TestRun;

typedef struct TestSuite { Cli *cli; Arena arena; const char *project; TestRun *runs; size_t n, passed; int64_t elapsed_ns; } TestSuite;

/* Runs them, a few at a time. False: a signal came, and everything was ended and removed. */
bool test_suite_run(TestSuite *s, const TestPlace *place);
void test_suite_fail(TestSuite *s, TestRun *r, const char *check, Str expected, Str got);       /* copies */

/* test_suite_child.c: all that the process of one test does. Does not return. */
_Noreturn void test_suite_child(const TestPlace *place, const TestRun *r, int report);

/* test_suite_report.c */
void test_suite_report_text(TestSuite *s);     /* "✓ NAME", failures with expected and got, "N passed, M failed" */
void test_suite_report_json(TestSuite *s);
bool test_suite_report_junit(TestSuite *s, const Project *p, const char *path, Error *err);
