/* requestState: the token with which a client resumes a request that waits for input. Sixteen random bytes and a MAC
 * over them, the method and the parameters, with a key that never leaves the process. */
#pragma once
#include "value/dict.h"

enum { INPUT_ID_BYTES = 16, INPUT_KEY_BYTES = 32 };
typedef struct InputId { uint8_t bytes[INPUT_ID_BYTES]; } InputId;

/* Covers `params` without _meta, inputResponses and requestState. */
bool input_state_write(const uint8_t key[INPUT_KEY_BYTES], const InputId *id, Str method, Value params, Buf *out, Error *err);
/* False without an error kind: not made with this key for this method and these parameters. */
bool input_state_read(const uint8_t key[INPUT_KEY_BYTES], Str state, Str method, Value params, InputId *out, Error *err);
