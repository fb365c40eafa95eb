/* Shared by OpenAI's two wire formats. */
#pragma once
#include "model/http_turn.h"

extern const HttpTurnWire openai_chat_wire, openai_responses_wire;
bool openai_reasons(Str model);          /* false for models that are known not to reason */
