/* Starting threads, and waiting until a moment of the monotonic clock. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Signals stay with the threads that expect them. 0, or an errno. */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);
void thread_cond_init(pthread_cond_t *c);              /* for thread_cond_wait */
bool thread_cond_wait(pthread_cond_t *c, pthread_mutex_t *held, int64_t until_ns);     /* clock_mono_ns; false: it has come */
