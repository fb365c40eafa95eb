/* The one writer to the terminal. Every write of the process to a terminal goes through here (cli_write, the log), so that
 * no thread writes into the middle of what another one shows. A process has one terminal, so the state is global.
 *
 * - A prompt or question holds the screen. Meanwhile output of other threads waits in a queue of at most
 *   SCREEN_QUEUE_MAX bytes, in order; what does not fit is dropped, and counted in a line.
 * - While a streamed answer is in the middle of a line, whole lines from elsewhere wait until the line has ended.
 * - The live line is the last line of the screen. It is erased before anything else is written.
 *
 * All functions are thread-safe, and only screen_hold and screen_yield block. */
#pragma once
#include "base/cancel.h"
#include "base/str.h"

enum { SCREEN_QUEUE_MAX = 1 << 20 };

/* Writes bytes unchanged to `fd`, a terminal. False: the write failed. */
bool screen_write(int fd, Str text);
/* The same for an answer that arrives in pieces, which may end in the middle of a line. */
bool screen_stream(int fd, Str text);

/* Replaces the live line. Does nothing while the screen is held or in the middle of a line. */
void screen_live(int fd, Str line);
void screen_live_end(void);                  /* erases it */

/* Waits until no other thread holds the screen. False: `cancel` (may be NULL) fired first. Calls of one thread nest. */
bool screen_hold(Cancel *cancel);
void screen_release(void);                   /* writes what has waited */
/* A prompt holds the screen for as long as the user likes, so it must let questions of other threads through: when screen_wanted_fd() is
 * readable, it calls screen_yield, which lets them be asked and answered. -1: out of descriptors. */
int screen_wanted_fd(void);
void screen_yield(void);

/* Before the process ends: writes the queue; from now on output is not queued. */
void screen_abandon(void);
