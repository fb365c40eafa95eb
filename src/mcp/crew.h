/* The threads that work on requests. Unlike base/pool.h, one that waits for somebody (a person who was asked) says so and no longer counts, so
 * those who wait never keep others from being served; and work has an owner (the client it is for): the owner with the least work under way comes
 * first, and one that has none comes even when everybody is at work. Threads start when needed and end with the crew. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct Crew Crew;
typedef void CrewWork(void *arg);

enum { CREW_WAITING_MAX = 512 };

Crew *crew_new(size_t at_work);          /* so many work at the same time; four times as many with owners that have nothing else under way */
void crew_free(Crew *c);                 /* after the last work has ended */
void crew_add(Crew *c, const void *owner, CrewWork *work, void *arg);        /* runs it here when no thread can be started at all */
/* A thread that is none of the crew's wants to work for that owner itself, between these two. False: enough are at work, it is to crew_add. */
bool crew_join(Crew *c, const void *owner);
void crew_leave(Crew *c, const void *owner);
/* During work for that owner: it is going to wait … False: CREW_WAITING_MAX do already, it must not. */
bool crew_wait(Crew *c, const void *owner);
void crew_go_on(Crew *c, const void *owner);                 /* … and has waited */
