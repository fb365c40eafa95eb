/* Reading messages, and writing JSON piece by piece: shared by the wires. */
#pragma once
#include "script/parts.h"
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

int64_t request_int(Value dict, const char *key);             /* 0 when absent or not a small int */
List *request_list(Value dict, const char *key);              /* NULL when absent or not a list */

/* ---- images and PDFs ---- */

enum { MEDIA_IMAGE = 1, MEDIA_PDF = 2 };
typedef struct MediaRule { unsigned takes; uint32_t from; } MediaRule;   /* media that the model accepts; media before message `from` would exceed the limit */
MediaRule request_media_rule(unsigned takes, const List *messages);
bool request_has_media(Value message);
/* True if a media part of message i is sent. Otherwise a line of text describes it and says why it is left out. */
bool request_sends_media(const MediaRule *rule, uint32_t i, Value part, Buf *line);
void request_data_url(Buf *b, const char *key, Value part);   /* "key":"data:image/png;base64,…" */

void request_system(const List *messages, Buf *out);         /* all system messages, with an empty line between them */

void request_key(Buf *b, const char *key);                    /* ,"key": – without the comma after an opening bracket */
void request_string(Buf *b, const char *key, Str text);
bool request_value(Buf *b, const char *key, Value v, Error *err);
