/* Recognises hooks and other restrictions that were written where nothing reads them: in the folder or format of something else, or below the frontmatter.
 * They would have no effect, so they stop the load. Compares keys without case, blanks and invisible characters. */
#pragma once
#include "artifact/loader.h"

/* True if a map reads like a hook, by its values: a key names an event (tool.pre), an `event` comes with a script or command, or a script defines
 * handle(). `any_event`: an `event` alone is enough. *key is the key that shows it. */
bool misplaced_hook(Value map, bool any_event, Str *key);
/* The same for a file that is not loaded: YAML, JSON or a text with frontmatter. *line is the line of the key; 0: unknown. A file that cannot be
 * parsed is searched line by line. */
bool misplaced_hook_in_text(Str name, Str text, bool any_event, uint32_t *line);
/* True if the file has the policy of a guard.md: a key such as `rules` or `guard`. *line as above. */
bool misplaced_policy_in_text(Str name, Str text, uint32_t *line);
/* True if it is one of those keys (artifact/field.h) or resembles `event`, with the value of a restriction and not of a sentence in YAML's form
 * ("Rules:" and a list of sentences). */
bool misplaced_restriction(Str key, Value value, const char **hint);
/* Reports restrictions in the body of a document: a second block of frontmatter, or one that was closed too early. */
void misplaced_in_body(DocumentContext *c, const Document *d);
