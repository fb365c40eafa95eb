/* Inside the module fs: mod_fs.c has the table; fs_diff.c, fs_lines.c and fs_search.c have some of its functions. Everything goes through
 * the call's jail (sandbox/jail.h). */
#pragma once
#include "script/script.h"

NativeFn fs_diff;                                                                                  /* fs_diff.c */
NativeFn fs_glob, fs_find;                                                                         /* fs_search.c */
NativeFn fs_read_lines, fs_line_count, fs_insert_at, fs_replace, fs_replace_all, fs_replace_lines, fs_delete_lines;  /* fs_lines.c */

bool fs_jail(Vm *vm, const Jail **out, Error *err);          /* "not available here" */
/* The whole file, at most JAIL_FILE_MAX. `text`: what is not UTF-8 is an error that names the path and the place. */
bool fs_load(Vm *vm, Str path, bool text, Buf *out, JailStat *st, Error *err);
/* May this path be changed? A sensitive name (policy/approval.h), as it is given or as it resolves, must be confirmed. To be
 * asked before every change. */
bool fs_confirm(Vm *vm, Str path, Error *err);
/* Writes in one step, after fs_confirm; `read`: what the file must still be, or NULL. */
bool fs_store(Vm *vm, Str path, Str content, const JailStat *read, Error *err);
