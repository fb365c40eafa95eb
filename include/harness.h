/* harness: the public interface of libharness.
 *
 *     HarnessConfig config = { .dir = "my-project" };
 *     Harness *h;
 *     HarnessError err;
 *     if (!harness_open(&config, &h, &err)) { fprintf(stderr, "%s\n", err.message); return 1; }
 *     HarnessResult *r = harness_call(h, "read_file", "{\"path\": \"README.md\"}", NULL);
 *     puts(harness_result_value(r));
 *     harness_result_free(r);
 *     harness_close(h);
 *
 * All text is UTF-8; arguments and results are JSON. Every call goes through the whole pipeline: schema, policy, hooks,
 * confirmation, sandbox, events. All functions are thread-safe, with two exceptions: call harness_open early (it forks
 * the sandbox's launcher), and call harness_close only when no other call is running.
 *
 * Link with libharness.a and the libraries it uses (libyaml, GMP, PCRE2, pthread, m, dl), or load libharness.so
 * (Python: examples/embed/embed.py). Everything declared here is stable within a major version; nothing else in the
 * library is. Structs that the caller fills begin with `size`: set it to sizeof, so that a newer library recognizes an
 * older caller. */
#ifndef HARNESS_H
#define HARNESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HARNESS_VERSION_MAJOR 0
#define HARNESS_VERSION_MINOR 1
#define HARNESS_VERSION_PATCH 0

/* The version as one number, to compare at compile time: HARNESS_VERSION_NUMBER >= 1002 means 0.1.2 or later. */
#define HARNESS_VERSION_NUMBER \
    (HARNESS_VERSION_MAJOR * 1000000 + HARNESS_VERSION_MINOR * 1000 + HARNESS_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HARNESS_API __attribute__((visibility("default")))
#else
#define HARNESS_API
#endif

/* The version of the linked library, "MAJOR.MINOR.PATCH", which may be newer than this header. The string is static. */
HARNESS_API const char *harness_version(void);

typedef struct Harness Harness;                     /* an open project */
typedef struct HarnessRun HarnessRun;               /* one conversation: its limits, caches, approvals and events */
typedef struct HarnessResult HarnessResult;
typedef struct HarnessCancel HarnessCancel;

typedef struct HarnessError {
    char kind[16];                                  /* parse, config, validation, policy, sandbox, io, … */
    char message[1024];                             /* for an invalid project: every problem, one per line */
    char file[256];                                 /* "" if unknown */
    uint32_t line, column;                          /* 0 if unknown */
    char hint[160];
} HarnessError;

/* ---- events ---- */

typedef struct HarnessEvent {
    uint64_t seq;
    int64_t time_ns;                                /* since 1970 */
    const char *run, *agent, *parent, *type;        /* "tool.completed" … */
    int depth;
    const char *data;                               /* a JSON object, redacted */
} HarnessEvent;

/* Called in order, one at a time, on the thread that caused the event; the event is valid during the call only. It must
 * not call the library. */
typedef void HarnessOnEvent(void *user, const HarnessEvent *event);

/* ---- confirmation by the user ---- */

typedef enum { HARNESS_NO, HARNESS_ONCE, HARNESS_THESE_ARGUMENTS, HARNESS_THIS_TOOL } HarnessAnswer;
/* `shown` is the rendered command, a diff or the arguments, safe to print. Without a callback, calls that need
 * confirmation are refused. */
typedef HarnessAnswer HarnessOnConfirm(void *user, const char *tool, const char *why, const char *shown);

/* ---- a project ---- */

typedef struct HarnessConfig {
    size_t size;                                    /* sizeof(HarnessConfig); 0 means the same */
    const char *dir;                                /* NULL: the working folder */
    const char *config;                             /* path of a harness.md; NULL: the one in dir, if any */
    const char *state;                              /* path of the database; NULL: the default path; "": no database */
    bool lenient;                                   /* skip invalid tools (never guards) */
    HarnessOnEvent *on_event;
    HarnessOnConfirm *on_confirm;
    void *user;
    /* What a project requests beyond the defaults (programs, secrets, hosts, outside files: `harness trust` lists it)
     * needs consent: the digest that `harness trust --print` prints, or an absolute folder whose projects are trusted.
     * NULL: such a project is refused. */
    const char *trust;
} HarnessConfig;

HARNESS_API bool harness_open(const HarnessConfig *config, Harness **out, HarnessError *err);
HARNESS_API void harness_close(Harness *h);         /* accepts NULL */

/* All tools that may be called now, as JSON: [{"name", "title", "description", "parameters", "safety", "kind", …}], and
 * one of them. Free the text with harness_free. NULL if there is no such tool. */
HARNESS_API char *harness_tools(Harness *h);
HARNESS_API char *harness_tool(Harness *h, const char *name);
HARNESS_API void harness_free(char *text);

/* ---- native tools ---- */

typedef struct HarnessCall HarnessCall;             /* a running call; valid during the callback */

/* Must call harness_call_return or harness_call_fail; a callback that calls neither returns null. */
typedef void HarnessTool(void *user, HarnessCall *call);

typedef struct HarnessToolSpec {
    size_t size;                                    /* sizeof(HarnessToolSpec) */
    const char *name, *description;
    const char *parameters;                         /* JSON Schema of an object; NULL: no parameters */
    const char *output_schema;                      /* may be NULL */
    const char *safety;                             /* JSON as in a tool's `safety`; NULL: mutating, like every unknown tool */
    const char *injected;                           /* JSON list as in a tool's `injected`; may be NULL */
    int64_t timeout_ms;                             /* 0: the default; the callback should poll harness_call_cancelled */
    HarnessTool *run;
    void *user;
} HarnessToolSpec;

/* Implements a tool that the project declares without a script; any other name must be new. */
HARNESS_API bool harness_register(Harness *h, const HarnessToolSpec *spec, HarnessError *err);

HARNESS_API const char *harness_call_arguments(HarnessCall *call);           /* validated JSON, after hooks */
HARNESS_API const char *harness_call_injected(HarnessCall *call);            /* JSON object of the injected values it requested */
HARNESS_API const char *harness_call_id(HarnessCall *call);
HARNESS_API bool harness_call_cancelled(HarnessCall *call);
HARNESS_API int harness_call_cancel_fd(HarnessCall *call);                   /* readable once cancelled: for poll() */
HARNESS_API bool harness_call_emit(HarnessCall *call, const char *name, const char *json);   /* a custom.NAME event */
HARNESS_API void harness_call_progress(HarnessCall *call, double done, double total, const char *message);
HARNESS_API bool harness_call_return(HarnessCall *call, const char *json);   /* false if it is not valid JSON */
HARNESS_API void harness_call_fail(HarnessCall *call, const char *message);

/* ---- runs and calls ---- */

/* Every call belongs to a run. A NULL run means the project's default run, which lasts until harness_close. */
HARNESS_API bool harness_run_start(Harness *h, const char *id, HarnessRun **out, HarnessError *err);   /* id NULL: a new one */
HARNESS_API const char *harness_run_id(HarnessRun *run);
HARNESS_API void harness_run_end(HarnessRun *run);

HARNESS_API HarnessCancel *harness_cancel_new(int64_t timeout_ms);           /* 0: no deadline */
HARNESS_API void harness_cancel_fire(HarnessCancel *c);                      /* from any thread */
HARNESS_API void harness_cancel_free(HarnessCancel *c);

/* Never NULL: an error is reported as a result. `arguments` NULL: {}. */
HARNESS_API HarnessResult *harness_call(Harness *h, const char *tool, const char *arguments, HarnessCancel *cancel);
HARNESS_API HarnessResult *harness_call_in(HarnessRun *run, const char *tool, const char *arguments, HarnessCancel *cancel);

HARNESS_API bool harness_result_ok(const HarnessResult *r);
HARNESS_API const char *harness_result_value(HarnessResult *r);              /* compact JSON */
HARNESS_API const char *harness_result_text(HarnessResult *r);               /* as a model would see it, truncated to the limit */
HARNESS_API const char *harness_result_json(HarnessResult *r);               /* the whole result object */
HARNESS_API const char *harness_result_error(const HarnessResult *r);        /* NULL on success */
HARNESS_API const char *harness_result_step(const HarnessResult *r);         /* step that refused the call: "policy" …; or NULL */
HARNESS_API void harness_result_free(HarnessResult *r);

#ifdef __cplusplus
}
#endif
#endif
