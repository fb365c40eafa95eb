/* Operators on values: the slow paths of the virtual machine. */
#pragma once
#include "starlark/vm/code.h"
#include "starlark/vm/vm.h"

bool operate_binary(Vm *vm, Op op, Value x, Value y, Value *out, Error *err);   /* OP_ADD … OP_SHR, OP_EQ … OP_NOT_IN */
bool operate_in_place(Vm *vm, Op op, Value x, Value y, Value *out, Error *err); /* OP_IADD, OP_IOR, OP_AND, OP_SUB, OP_XOR */
bool operate_unary(Vm *vm, Op op, Value x, Value *out, Error *err);             /* OP_NEG, OP_POS, OP_INVERT */
bool operate_compare(Vm *vm, Op op, Value x, Value y, bool *out, Error *err);   /* OP_EQ … OP_GE */
bool operate_index(Vm *vm, Value x, Value key, Value *out, Error *err);
bool operate_set_index(Vm *vm, Value x, Value key, Value v, Error *err);
bool operate_set_attr(Vm *vm, Value x, String *name, Value v, Error *err);
bool operate_slice(Vm *vm, const Value part[4], Value *out, Error *err);        /* operand, start, stop, step; None: absent */
bool operate_unpack(Vm *vm, Value v, Value *to, uint32_t n, Error *err);
