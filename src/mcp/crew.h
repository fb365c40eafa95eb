/* The threads that work on requests. Unlike base/pool.h, one that waits for somebody (a person who was asked) says so and no longer counts, so
 * those who wait never keep others from being served. Threads start when needed and end with the crew. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct Crew Crew;
typedef void CrewWork(void *arg);

Crew *crew_new(size_t at_work);          /* so many work at the same time */
void crew_free(Crew *c);                 /* after the last work has ended */
void crew_add(Crew *c, CrewWork *work, void *arg);           /* runs it here when no thread can be started at all */
void crew_wait(Crew *c);                 /* on a thread of the crew: I am going to wait … */
void crew_go_on(Crew *c);                /* … and have waited */
