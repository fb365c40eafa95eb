/* Fork bombs: functions and loops that start more and more of themselves. */
#pragma once
#include "tool/guard_judge.h"

void guard_bomb_functions(Guard *j);                 /* all functions that were defined */
void guard_bomb_loop(Guard *j, const GuardNode *loop);
