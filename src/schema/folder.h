/* Documents from a folder: the only place that references to other documents may lead to.
 * `prefix` + REST is the file DIR/REST; what would lie outside the folder does not exist. */
#pragma once
#include "schema/schema.h"

typedef struct SchemaFolder SchemaFolder;

SchemaFolder *schema_folder_new(Str prefix, const char *dir);
void schema_folder_free(SchemaFolder *f);              /* after every Schema that used it */
bool schema_folder_resolve(void *folder, Str uri, Value *out, Error *err);   /* a SchemaResolve */
