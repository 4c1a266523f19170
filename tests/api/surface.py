"""Reads PyFlink's recorded public surface and looks each name up in Penstock; decides nothing about gaps."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SURFACE = json.loads(Path(__file__).with_name("pyflink_surface.json").read_text())
SURFACE["modules"].update(json.loads(Path(__file__).with_name("pyflink_table_surface.json").read_text())["modules"])
MISSING = object()


@dataclass(frozen=True)
class Name:
    """One public name of PyFlink: a module, or something in it by dotted path (`Class`, `Class.method`)."""

    module: str
    path: str = ""
    parameters: tuple[str, ...] | None = None
    optional: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.module}:{self.path}" if self.path else self.module


def our_module(module: str) -> Any:
    """The Penstock module of a PyFlink module, or MISSING."""
    name = module.replace("pyflink", "penstock", 1)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name is not None and name.startswith(error.name):
            return MISSING
        raise


def look_up(name: Name) -> Any:
    """What the name stands for in Penstock, or MISSING."""
    found = our_module(name.module)
    for part in filter(None, name.path.split(".")):
        found = MISSING if found is MISSING else getattr(found, part, MISSING)
    return found


def all_names() -> Iterator[Name]:
    """Every public name PyFlink has: modules, exports, functions, classes, constants, methods."""
    for module, content in SURFACE["modules"].items():
        yield Name(module)
        defined = {*content.get("classes", {}), *content.get("functions", {})}
        yield from (Name(module, export) for export in content.get("__all__", ()) if export not in defined)
        for function, details in content.get("functions", {}).items():
            yield _callable_name(module, function, details)
        for path, details in content.get("classes", {}).items():
            yield from _class_names(module, path, details)


def _class_names(module: str, path: str, details: dict[str, Any]) -> Iterator[Name]:
    yield Name(module, path)
    for constant in details.get("constants", ()):
        yield Name(module, f"{path}.{constant}")
    for method, signature in details.get("methods", {}).items():
        if "#" not in method:
            yield _callable_name(module, f"{path}.{method}", signature)
    for inherited in details.get("inherited", ()):
        yield Name(module, f"{path}.{inherited}")


def _callable_name(module: str, path: str, details: dict[str, Any]) -> Name:
    if details.get("kind") == "property":
        return Name(module, path)
    listed = re.fullmatch(r"[^(]*\((.*)\)", details["signature"])
    assert listed is not None, details
    parameters = tuple(filter(None, (part.strip() for part in listed.group(1).split(","))))
    return Name(module, path, parameters, frozenset(details.get("optional", ())))


def signature_problem(name: Name, found: Callable[..., Any]) -> str | None:
    """How a call that is right in PyFlink could go wrong in Penstock, or None."""
    last = name.path.rpartition(".")[2]
    if name.parameters is None or not callable(found) or (last.startswith("__") and last != "__init__"):
        return None
    theirs = [parameter.lstrip("*") for parameter in name.parameters]
    # A parameter that takes a JVM object has no counterpart; one of ours takes its place.
    kept = [parameter for parameter in theirs if not parameter.lstrip("_").startswith("j_")]
    ours = [p for p in inspect.signature(found).parameters.values() if p.name not in ("self", "cls")]
    if theirs and not kept:
        return None
    got = [p.name for p in ours if p.name in kept] if len(kept) < len(theirs) else [p.name for p in ours][: len(kept)]
    if got != kept:
        return f"parameters {kept} are {[p.name for p in ours]}"
    return _default_problem(name.optional, kept, ours, replaced=len(theirs) - len(kept))


def _default_problem(
    optional: frozenset[str], kept: list[str], ours: list[inspect.Parameter], replaced: int
) -> str | None:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [p.name for p in ours if p.default is inspect.Parameter.empty and p.kind not in variadic]
    for parameter in optional.intersection(required):
        return f"parameter {parameter!r} must have a default"
    added = [parameter for parameter in required if parameter not in kept]
    return f"parameters {added} must have defaults" if len(added) > replaced else None
