/* Loads referenced documents from a folder, the only source of other documents. `prefix` + REST is
 * the file DIR/REST; a path that leads outside of the folder does not exist. */
#pragma once
#include "schema/schema.h"

typedef struct SchemaFolder SchemaFolder;

SchemaFolder *schema_folder_new(Str prefix, const char *dir);
void schema_folder_free(SchemaFolder *f);              /* call after freeing every Schema that used it */
bool schema_folder_resolve(void *folder, Str uri, Value *out, Error *err);   /* a SchemaResolve */
