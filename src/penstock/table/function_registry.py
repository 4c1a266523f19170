"""User functions by name: how programs register them, and how a name of the catalog becomes a function."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from penstock.errors import CatalogError, SqlError
from penstock.table.catalog.entries import CatalogFunction
from penstock.table.catalog.lookup import CatalogManager
from penstock.table.sql.parsing import parse_name
from penstock.table.udf import wrapped
from penstock.vocabulary.sql.user_functions import UserFunction

__all__ = ["FunctionRegistry", "user_function_of"]


class FunctionRegistry:
    """The methods of a table environment about functions."""

    _catalogs: CatalogManager

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Give a user function a name in a database, for this program."""
        name = self._catalogs.function_name(parse_name(path))
        _put(self._catalogs.temporary_functions, name, function, path)

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Give a user function a name that is known in all databases, for this program; it hides a built-in one."""
        _put(self._catalogs.system_functions, name.lower(), function, name)

    def create_function(self, path: str, function_class: Any, ignore_if_exists: bool | None = None) -> None:
        """Give a user function a name in a database, for as long as the catalog lasts."""
        catalog, database, name = self._catalogs.function_name(parse_name(path))
        place = self._catalogs.catalog(catalog).database(database).functions
        if name in place and ignore_if_exists:
            return
        _put(place, name, function_class, path)

    def drop_temporary_function(self, path: str) -> bool:
        """Forget a temporary function; returns whether it was there."""
        name = self._catalogs.function_name(parse_name(path))
        return self._catalogs.temporary_functions.pop(name, None) is not None

    def drop_temporary_system_function(self, name: str) -> bool:
        """Forget a temporary system function; returns whether it was there."""
        return self._catalogs.system_functions.pop(name.lower(), None) is not None

    def drop_function(self, path: str) -> bool:
        """Forget a function of a catalog; returns whether it was there."""
        catalog, database, name = self._catalogs.function_name(parse_name(path))
        return self._catalogs.catalog(catalog).database(database).functions.pop(name, None) is not None


def _put(place: dict[Any, CatalogFunction], key: Any, function: Any, shown: str) -> None:
    if key in place:
        raise CatalogError(f"Function {shown} exists already; drop it first.")
    held = wrapped(function)
    place[key] = CatalogFunction(f"{type(function).__module__}.{held.user_function.name}", "PYTHON", held)


def user_function_of(catalogs: CatalogManager, name: Sequence[str]) -> UserFunction | None:
    """The user function of a name; None if there is none. One of a module is imported when it is first used."""
    if len(name) > 3:
        return None
    entry = catalogs.function(tuple(name))
    if entry is None:
        return None
    found: UserFunction = (entry.function or _imported(entry, ".".join(name))).user_function
    return found


def _imported(entry: CatalogFunction, name: str) -> Any:
    if entry.language.upper() != "PYTHON":
        raise SqlError(
            f"Function {name} is written in {entry.language}, which cannot be run here: create it with LANGUAGE PYTHON."
        )
    module, _, attribute = entry.class_name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SqlError(
            f"Function {name} is said to be '{entry.class_name}', which cannot be imported: {error}. Give the name of "
            f"its module and, behind a dot, its name in it; the module must be importable where the program runs."
        ) from None
    try:
        return wrapped(found)
    except TypeError as error:
        raise SqlError(f"Function {name}: {error}") from None
