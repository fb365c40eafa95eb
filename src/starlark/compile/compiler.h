/* Syntax trees to bytecode. */
#pragma once
#include "starlark/vm/code.h"

typedef struct CompilerInput {
    const AstModule *ast;                /* resolved */
    Module *module;                      /* owns the code */
    Arena *arena;                        /* for the code */
    Heap *heap;                          /* for constants */
    Value (*lookup)(void *ctx, Scope scope, String *name);   /* value of a predeclared or universal name */
    void *ctx;
    bool check_members;                  /* report json.nosuch at compile time */
} CompilerInput;

/* Compiles the top level; the other functions are its inner functions. */
bool compiler_module(const CompilerInput *in, Code **out, Error *err);
