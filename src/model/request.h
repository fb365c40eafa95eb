/* Looking at messages, and writing JSON piece by piece: what the wires share. */
#pragma once
#include "value/dict.h"
#include "value/json.h"
#include "value/list.h"

typedef enum Role {
#define ROLE(id, name) ROLE_##id,
#include "model/roles.def"
#undef ROLE
} Role;
const char *request_role_name(Role r);
Role request_role(Value message);                             /* of a message without a known role: the user's */

int64_t request_int(Value dict, const char *key);             /* 0 when absent or no small int */
List *request_list(Value dict, const char *key);              /* NULL when absent or no list */

void request_system(const List *messages, Buf *out);         /* all system messages, with an empty line between them */

void request_key(Buf *b, const char *key);                    /* ,"key": – without the comma after an opening bracket */
void request_string(Buf *b, const char *key, Str text);
bool request_value(Buf *b, const char *key, Value v, Error *err);
