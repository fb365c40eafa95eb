/* Private header of the module fs: mod_fs.c has the table; fs_diff.c, fs_lines.c and fs_search.c implement some of its
 * functions. All file access goes through the call's jail (sandbox/jail.h). */
#pragma once
#include "script/script.h"

NativeFn fs_diff;                                                                                  /* fs_diff.c */
NativeFn fs_glob, fs_find;                                                                         /* fs_search.c */
NativeFn fs_read_lines, fs_line_count, fs_insert_at, fs_replace, fs_replace_all, fs_replace_lines, fs_delete_lines;  /* fs_lines.c */

bool fs_jail(Vm *vm, const Jail **out, Error *err);          /* fails with "not available here" */
/* Reads the whole file, at most JAIL_FILE_MAX. `text`: fails if it is not UTF-8, naming the path and the position. */
bool fs_load(Vm *vm, Str path, bool text, Buf *out, JailStat *st, Error *err);
/* Checks that this path may be changed; call it before every change. A sensitive name (policy/approval.h), as given or
 * as resolved, needs confirmation. */
bool fs_confirm(Vm *vm, Str path, Error *err);
/* Writes atomically, after fs_confirm. Fails if the file has changed since `read`, unless that is NULL. */
bool fs_store(Vm *vm, Str path, Str content, const JailStat *read, Error *err);
