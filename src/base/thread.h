/* Starts threads, and waits on conditions with monotonic deadlines. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts a thread with all signals blocked. 0, or an errno. */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);
void thread_cond_init(pthread_cond_t *c);              /* for thread_cond_wait */
bool thread_cond_wait(pthread_cond_t *c, pthread_mutex_t *held, int64_t until_ns);     /* until_ns: clock_mono_ns; false on timeout */
