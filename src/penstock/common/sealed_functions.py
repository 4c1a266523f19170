"""Detects functions that keep no reference to their arguments or results, as most lambdas do.

What they return is made of their arguments, of constants and of nothing else, so nobody has it but the caller, and a
copy is of no use. Whatever is not known to be harmless counts as harmful.
"""

from __future__ import annotations

import builtins
import dis
import inspect
from collections import namedtuple
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

from penstock.common.own_copies import ATOMS
from penstock.common.types import Row

__all__ = ["attributes_read", "has_plain_attributes", "is_sealed"]

# Types of what a function may have beside its arguments: data, and nothing that can be called.
_CONSTANTS = ATOMS - {FunctionType, BuiltinFunctionType, ModuleType, type}
_ONE_NAME = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW"})
_SLOTS = frozenset({MemberDescriptorType, type(inspect.getattr_static(namedtuple("_Single", "item"), "item"))})
_HARMLESS_FAMILIES = ("LOAD_FAST", "STORE_FAST", "UNARY_", "BUILD_", "POP_JUMP_", "JUMP_", "COMPARE_", "BINARY_")
_HARMLESS = frozenset(
    {"CACHE", "CALL", "CONTAINS_OP", "CONVERT_VALUE", "COPY", "COPY_FREE_VARS", "DICT_MERGE", "DICT_UPDATE", "END_FOR"}
    | {"FORMAT_SIMPLE", "FORMAT_VALUE", "FORMAT_WITH_SPEC", "FOR_ITER", "GET_ITER", "IS_OP", "KW_NAMES", "LIST_APPEND"}
    | {"LIST_EXTEND", "LIST_TO_TUPLE", "LOAD_CONST", "LOAD_SMALL_INT", "MAKE_CELL", "MAKE_FUNCTION", "MAP_ADD", "NOP"}
    | {"NOT_TAKEN", "POP_ITER", "POP_TOP", "PRECALL", "PUSH_NULL", "RESUME", "RETURN_CONST", "RETURN_VALUE", "SET_ADD"}
    | {"SET_UPDATE", "STORE_SUBSCR", "SWAP", "TO_BOOL", "UNPACK_SEQUENCE"}
)
_HARMLESS_BUILTINS = frozenset(
    {"abs", "all", "any", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "float", "frozenset", "hash", "int"}
    | {"isinstance", "len", "list", "max", "min", "ord", "pow", "range", "repr", "reversed", "round", "set", "sorted"}
    | {"str", "sum", "tuple", "zip"}
)


def is_sealed(function: Any) -> bool:
    """Whether a function is one in plain sight that reads and makes values, and calls only built-in functions."""
    return _holds_constants(function) and _is_harmless(function.__code__, function.__globals__)


def _holds_constants(function: Any) -> bool:
    """Whether it is a function that has nothing but data beside its arguments."""
    if type(function) is not FunctionType:
        return False
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    try:
        held += [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # a cell that is not filled yet
        return False
    return all(type(each) in _CONSTANTS for each in held)


def attributes_read(function: Any) -> frozenset[str] | None:
    """The attributes of its first argument that a function reads which otherwise only computes; None: it does more.

    If reading these is plain (`has_plain_attributes`), nobody can tell when, or how often, it is called: it is
    sealed and changes nothing it is given. What it raises is another matter.
    """
    if not _holds_constants(function) or not _leaves_arguments_alone(function.__code__):
        return None
    read: set[str] = set()
    return frozenset(read) if _is_harmless(function.__code__, function.__globals__, read) else None


@lru_cache(maxsize=1_000)
def has_plain_attributes(cls: type, names: frozenset[str]) -> bool:
    """Whether reading some attributes of objects of a class runs no code of the user."""
    if cls is Row:
        return True
    if type(cls.__getattribute__) is not WrapperDescriptorType or hasattr(cls, "__getattr__"):
        return False
    return all(_is_plain(inspect.getattr_static(cls, name, None)) for name in names)


def _is_plain(found: Any) -> bool:
    """Whether what a class has under a name is a value, or reads a slot or the place of a named tuple."""
    return type(found) in _SLOTS or not hasattr(type(found), "__get__")


def _leaves_arguments_alone(code: CodeType) -> bool:
    changes = [
        each.opname == "STORE_SUBSCR" or (each.opname == "BINARY_OP" and each.argrepr.endswith("="))
        for each in dis.get_instructions(code)
    ]
    nested = [each for each in code.co_consts if isinstance(each, CodeType)]
    return not any(changes) and all(map(_leaves_arguments_alone, nested))


def _is_harmless(code: CodeType, names: dict[str, Any], read: set[str] | None = None) -> bool:
    """Whether code does only what is known; `read` is given the attributes of its argument, if it may read any."""
    if code.co_flags & (0x20 | 0x80 | 0x200):  # generators and coroutines live on after the call
        return False
    nested = [each for each in code.co_consts if isinstance(each, CodeType)]
    others = list(dis.get_instructions(code)) if read is None else _without_attributes(code, read)
    return all(_is_allowed(each, names) for each in others) and all(_is_harmless(each, names) for each in nested)


def _without_attributes(code: CodeType, read: set[str]) -> list[dis.Instruction]:
    """The instructions but those that read an attribute of the first argument; `read` is given the attributes."""
    instructions = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
    argument = code.co_varnames[0] if code.co_argcount else None
    if any(each.opname.startswith("STORE_FAST") for each in instructions):  # the name may stand for something else
        return instructions
    others: list[dis.Instruction] = []
    for before, each in zip([None, *instructions], instructions, strict=False):
        is_of_argument = before is not None and before.opname in _ONE_NAME and before.argval == argument
        # "NULL" is where a method is looked up, to be called.
        if each.opname == "LOAD_ATTR" and is_of_argument and "NULL" not in each.argrepr:
            read.add(each.argval)
        else:
            others.append(each)
    return others


def _is_allowed(instruction: dis.Instruction, names: dict[str, Any]) -> bool:
    kind, name = instruction.opname, instruction.argval
    if kind == "LOAD_GLOBAL":
        if name in names:
            return type(names[name]) in _CONSTANTS
        return name in _HARMLESS_BUILTINS and hasattr(builtins, name)
    if kind in ("LOAD_DEREF", "LOAD_CLOSURE"):
        return True  # what is in there was looked at
    return kind in _HARMLESS or kind.startswith(_HARMLESS_FAMILIES)
