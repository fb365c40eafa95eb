/* Commands from other processes to the runs of this one, sent through the store: answers to open questions, messages, cancel. A thread of
 * the runtime checks the store for changes five times a second. It is started by the first run or question that needs it. */
#pragma once
#include "tool/runtime_private.h"

void control_free(Control *c);                           /* ends the thread; NULL is fine */

/* From here on, commands to the run are carried out: a cancel at once, messages when run_take_message is called. A cancel from before this process
 * resumed the run is ignored. */
bool control_watch(Run *r, Error *err);
void control_forget(Run *r);                             /* before the run is freed */

/* Fires `stop` when the question, or the dialog (store_dialog.h), is no longer open, or when the run is parked. parks: see park.h. */
typedef struct ControlQuestion { Str id; Cancel *stop; Run *run; bool parks; } ControlQuestion;
bool control_question_start(Run *r, const ControlQuestion *q, Error *err);
void control_question_end(Run *r, const ControlQuestion *q);
