"""Functions that certainly keep nothing of what they are given or return.

Most lambdas are such. What they return is made of their arguments, of constants and of nothing else, so nobody has it
but the caller, and a copy is of no use. Whatever is not known to be harmless counts as harmful.
"""

from __future__ import annotations

import builtins
import dis
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from penstock.common.own_copies import ATOMS

__all__ = ["is_sealed", "only_computes"]

# Types of what a function may have beside its arguments: data, and nothing that can be called.
_CONSTANTS = ATOMS - {FunctionType, BuiltinFunctionType, ModuleType, type}
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
    if type(function) is not FunctionType:
        return False
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    try:
        held += [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # a cell that is not filled yet
        return False
    return all(type(each) in _CONSTANTS for each in held) and _is_harmless(function.__code__, function.__globals__)


def only_computes(function: Any) -> bool:
    """Whether nobody can tell when, or how often, a function is called: it is sealed and changes nothing it is given.

    What it raises is another matter.
    """
    return is_sealed(function) and _leaves_arguments_alone(function.__code__)


def _leaves_arguments_alone(code: CodeType) -> bool:
    changes = [
        each.opname == "STORE_SUBSCR" or (each.opname == "BINARY_OP" and each.argrepr.endswith("="))
        for each in dis.get_instructions(code)
    ]
    nested = [each for each in code.co_consts if isinstance(each, CodeType)]
    return not any(changes) and all(map(_leaves_arguments_alone, nested))


def _is_harmless(code: CodeType, names: dict[str, Any]) -> bool:
    if code.co_flags & (0x20 | 0x80 | 0x200):  # generators and coroutines live on after the call
        return False
    nested = [each for each in code.co_consts if isinstance(each, CodeType)]
    return all(_is_allowed(each, names) for each in dis.get_instructions(code)) and all(
        _is_harmless(each, names) for each in nested
    )


def _is_allowed(instruction: dis.Instruction, names: dict[str, Any]) -> bool:
    kind, name = instruction.opname, instruction.argval
    if kind == "LOAD_GLOBAL":
        if name in names:
            return type(names[name]) in _CONSTANTS
        return name in _HARMLESS_BUILTINS and hasattr(builtins, name)
    if kind in ("LOAD_DEREF", "LOAD_CLOSURE"):
        return True  # what is in there was looked at
    return kind in _HARMLESS or kind.startswith(_HARMLESS_FAMILIES)
