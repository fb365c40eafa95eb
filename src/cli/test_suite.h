/* harness test: runs each test in its own process, in a copy of the workspace, and reports the results. */
#pragma once
#include "agent/trial.h"
#include "cli/opening.h"

/* Common to all tests of a command. */
typedef struct TestPlace {
    const Project *project;              /* as loaded from its own folder */
    RuntimeConfig config;                /* from the flags */
    const char *source;                  /* the folder to copy: the workspace with the project in it */
    const char *below;                   /* the project's folder in it; "" when it is the same */
    const char *name;                    /* of the copy: the source's own, since prompts may show it */
    const char *project_file;            /* -c: relative to the project's folder; NULL: search for it */
    int events;                          /* --events; -1: none */
} TestPlace;

typedef struct TestRun {
    const TestDef *def;
    bool passed;
    int64_t elapsed_ns;
    VEC(TrialFailure) failures;          /* texts live in the suite's arena */
    /* while it runs */
    pid_t pid;                           /* 0: not running */
    int pipe;                            /* receives the child's report */
    int64_t start_ns;
    Buf report;
    char folder[256];                    /* temporary, contains the copy */
} TestRun;

typedef struct TestSuite { Cli *cli; Arena arena; const char *project; TestRun *runs; size_t n, passed; int64_t elapsed_ns; } TestSuite;

/* Runs the tests, a few at a time. False: a signal arrived, and everything was ended and removed. */
bool test_suite_run(TestSuite *s, const TestPlace *place);
void test_suite_fail(TestSuite *s, TestRun *r, const char *check, Str expected, Str got);       /* copies */

/* test_suite_child.c: the process of one test. Does not return. */
_Noreturn void test_suite_child(const TestPlace *place, const TestRun *r, int report);

/* test_suite_report.c */
void test_suite_report_text(TestSuite *s);     /* "✓ NAME", failures with expected and got, "N passed, M failed" */
void test_suite_report_json(TestSuite *s);
bool test_suite_report_junit(TestSuite *s, const Project *p, const char *path, Error *err);
