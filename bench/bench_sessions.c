/* 500 concurrent conversations in one process, each with a scripted model and one tool call: NAME ours target ratio, in
 * megabytes of peak memory; the peer is the target of the design. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "report.h"
#include "agent/session.h"

enum { SESSIONS = 500, STACK = 512 << 10 };

static Agents *agents;
static pthread_barrier_t together;

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) exit(1);
}

static void make_project(void) {
    mkdir(".harness", 0700);
    mkdir(".harness/tools", 0700);
    write_file(".harness/tools/up.md", "---\nparameters: { text: { type: string } }\nscript: |\n  def run(args):\n      return args[\"text\"].upper()\n---\nUpper.\n");
    write_file("model.star", "def reply(messages, tools):\n    if messages[-1][\"role\"] == \"tool\":\n        return {\"text\": \"done: \" + messages[-1][\"content\"]}\n"
                             "    return {\"tool_calls\": [{\"name\": \"up\", \"arguments\": {\"text\": messages[-1][\"content\"]}}]}\n");
    write_file("harness.md", "---\nmodel: { provider: script, name: offline, script: model.star }\n---\nYou help.\n");
}

static void *talk(void *arg) {
    Error err = { 0 };
    Session *s;
    SessionReply reply = { 0 };
    (void)arg;
    if (!session_open(agents, &(SessionConfig){ 0 }, &(RunConfig){ .no_store = true }, false, &s, &err)) fprintf(stderr, "%s\n", err.msg), exit(1);
    for (int i = 0; i < 3; i++) {
        if (!session_say(s, STR("hello"), NULL, &reply, &err) || reply.status != RUN_COMPLETED) fprintf(stderr, "%s%s\n", err.msg, reply.reason), exit(1);
        session_reply_clear(&reply);
    }
    pthread_barrier_wait(&together);                 /* all are open now */
    session_close(s, NULL);
    return NULL;
}

static double peak_mb(void) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;
    while (f && fgets(line, sizeof line, f)) sscanf(line, "VmHWM: %ld", &kb);
    if (f) fclose(f);
    return (double)kb / 1024;
}

int main(void) {
    char dir[] = "/tmp/harness-bench-XXXXXX";
    Error err = { 0 };
    Problems problems = { 0 };
    Runtime *rt;
    pthread_t threads[SESSIONS];
    pthread_attr_t attr;
    if (!mkdtemp(dir) || chdir(dir) != 0) return 1;
    make_project();
    if (!runtime_open(&(RuntimeConfig){ .ephemeral = true, .trusted = true }, &rt, &problems, &err)
        || !agent_set_new(rt, &(AgentsConfig){ 0 }, &agents, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_barrier_init(&together, NULL, SESSIONS);
    for (int i = 0; i < SESSIONS; i++)
        if (pthread_create(&threads[i], &attr, talk, NULL) != 0) return 1;
    for (int i = 0; i < SESSIONS; i++) pthread_join(threads[i], NULL);
    double mb = peak_mb();
    report_line("sessions_500_memory", mb, 200, "MB");
    agent_set_free(agents);
    runtime_close(rt);
    if (chdir("/") == 0 && strncmp(dir, "/tmp/harness-bench-", 19) == 0) {
        char command[64];
        snprintf(command, sizeof command, "rm -r %s", dir);
        return system(command) != 0;
    }
    return 0;
}
