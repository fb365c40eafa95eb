/* Where it is on record what is at work (sandbox/mark.h): beside the state that HARNESS_STATE or a flag names; else in the user's state folder; where
 * there is none, or tools could reach it, in a private folder in /tmp. */
#pragma once
#include "base/error.h"
#include "base/str.h"

enum { RECORD_FOLDERS = 2 };
typedef struct RecordPlaces { char *at[RECORD_FOLDERS]; } RecordPlaces;      /* the better one first; NULL: not possible here */

void record_places(const char *state, RecordPlaces *out);       /* state: as given by a flag; NULL: the environment says */
void record_places_clear(RecordPlaces *p);

/* Before anything of the project at `root` is read: what calls left that did not end in good order is compared and put back. `told` gets sentences for a
 * person. False: nothing may be loaded. With `look_only`, after loading: has it changed meanwhile? */
bool record_recover(const RecordPlaces *p, const char *root, bool look_only, Buf *told, Error *err);

/* The first place that can be written and lies in none of the folders in `reach` (absolute, up to NULL), made; NULL with *err: none. */
const char *record_folder(const RecordPlaces *p, const char *const *reach, Error *err);
