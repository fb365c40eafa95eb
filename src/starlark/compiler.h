/* Syntax trees to bytecode. */
#pragma once
#include "starlark/code.h"

typedef struct CompilerInput {
    const AstModule *ast;                /* resolved */
    Module *module;                      /* owner of the code */
    Arena *arena;                        /* where code goes */
    Heap *heap;                          /* where constants go */
    Value (*lookup)(void *ctx, Scope scope, String *name);   /* value of a predeclared or universal name */
    void *ctx;
    bool check_members;                  /* json.nosuch is an error now, not when it is reached */
} CompilerInput;

/* The function of the top level; others are its inner ones. */
bool compiler_module(const CompilerInput *in, Code **out, Error *err);
