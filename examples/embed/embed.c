/* Uses harness from C: a project's tools, a tool of this program, events, questions, cancelling. See README.md. */
#include <harness.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a tool of our own ---- */

static void add(void *user, HarnessCall *call) {
    int *calls = user, a, b;
    char text[64];
    ++*calls;
    if (sscanf(harness_call_arguments(call), "{\"a\":%d,\"b\":%d}", &a, &b) != 2) {   /* a real program has a JSON library */
        harness_call_fail(call, "expected a and b");
        return;
    }
    harness_call_emit(call, "added", "{\"by\": \"embed\"}");
    snprintf(text, sizeof text, "{\"sum\": %d}", a + b);
    harness_call_return(call, text);
}

/* Waits until its token is cancelled. */
static void wait_long(void *user, HarnessCall *call) {
    (void)user;
    struct pollfd token = { .fd = harness_call_cancel_fd(call), .events = POLLIN };
    poll(&token, 1, 60000);
    if (!harness_call_cancelled(call)) harness_call_return(call, "\"not stopped\"");
}

/* ---- what the host is told and asked ---- */

static void on_event(void *user, const HarnessEvent *e) {
    (void)user;
    if (strncmp(e->type, "tool.", 5) == 0 || strncmp(e->type, "custom.", 7) == 0) printf("  event %s\n", e->type);
}

static HarnessAnswer on_confirm(void *user, const char *tool, const char *why, const char *shown) {
    (void)user;
    printf("  may %s run? %s\n%s", tool, why, shown);
    return HARNESS_ONCE;
}

static void *stop_soon(void *token) {
    usleep(100000);
    harness_cancel_fire(token);
    return NULL;
}

static void show(const char *what, HarnessResult *r) {
    if (harness_result_ok(r)) printf("%s: %s\n", what, harness_result_value(r));
    else printf("%s: error: %s (step %s)\n", what, harness_result_error(r), harness_result_step(r));
    harness_result_free(r);
}

int main(int argc, char **argv) {
    HarnessConfig config = { .size = sizeof config, .dir = argc > 1 ? argv[1] : "project", .state = "", .on_event = on_event, .on_confirm = on_confirm,
                             .trust = getenv("HARNESS_TRUST") };
    Harness *h;
    HarnessError err;
    int calls = 0;
    if (!harness_open(&config, &h, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    HarnessToolSpec spec = { .size = sizeof spec, .name = "add", .description = "Adds two whole numbers.", .run = add, .user = &calls,
                             .parameters = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}},"
                                           "\"required\":[\"a\",\"b\"],\"additionalProperties\":false}",
                             .safety = "{\"read_only\": true}" };
    HarnessToolSpec slow = { .size = sizeof slow, .name = "wait_long", .description = "Waits.", .run = wait_long };
    if (!harness_register(h, &spec, &err) || !harness_register(h, &slow, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    show("greet", harness_call(h, "greet", "{\"name\": \"you\"}", NULL));
    show("add", harness_call(h, "add", "{\"a\": 2, \"b\": 3}", NULL));
    show("add", harness_call(h, "add", "{\"a\": \"two\"}", NULL));
    show("write", harness_call(h, "write", "{\"path\": \".env.example\", \"content\": \"KEY=\\n\"}", NULL));
    HarnessCancel *token = harness_cancel_new(0);
    pthread_t thread;
    pthread_create(&thread, NULL, stop_soon, token);
    show("wait_long", harness_call(h, "wait_long", NULL, token));
    pthread_join(thread, NULL);
    harness_cancel_free(token);
    printf("our function ran %d time%s\n", calls, calls == 1 ? "" : "s");
    harness_close(h);
    return 0;
}
