"""Finding what a name means: catalogs, the current catalog and database, temporary tables and views.

A temporary table hides one of a catalog that has the same name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.errors import CatalogError
from penstock.table.catalog.catalog import Catalog, Database
from penstock.table.catalog.entries import CatalogFunction, CatalogTable, CatalogView

__all__ = ["CatalogManager", "ObjectName"]

ObjectName = tuple[str, str, str]

DEFAULT_CATALOG = "default_catalog"


class CatalogManager:
    """All catalogs of an environment."""

    def __init__(self, catalog: str = DEFAULT_CATALOG, database: str = "default_database") -> None:
        """Start with one catalog in memory."""
        self.catalogs: dict[str, Catalog] = {catalog: Catalog(catalog, database)}
        self.current_catalog: str | None = catalog
        self.current_database: str | None = database
        self.temporary: dict[ObjectName, CatalogTable | CatalogView] = {}
        self.temporary_functions: dict[ObjectName, CatalogFunction] = {}
        self.system_functions: dict[str, CatalogFunction] = {}

    # ---- names ----

    def full_name(self, parts: Sequence[str]) -> ObjectName:
        """A name of one to three parts with the current catalog and database before it."""
        if not 1 <= len(parts) <= 3:
            raise CatalogError(f"{'.'.join(parts)}: expected [[catalog.]database.]name.")
        if len(parts) < 3 and self.current_catalog is None:
            raise CatalogError(f"{'.'.join(parts)}: no catalog is in use; name the whole path, or USE CATALOG first.")
        if len(parts) < 2 and self.current_database is None:
            raise CatalogError(f"{'.'.join(parts)}: no database is in use; name it, or USE a database first.")
        whole = [*[self.current_catalog, self.current_database][: 3 - len(parts)], *parts]
        return str(whole[0]), str(whole[1]), str(whole[2])

    def catalog(self, name: str) -> Catalog:
        """The catalog of a name; refused if there is none."""
        if name not in self.catalogs:
            raise CatalogError(f"There is no catalog {name}; there are {', '.join(sorted(self.catalogs))}.")
        return self.catalogs[name]

    def database_of(self, name: ObjectName) -> Database:
        """The database that an object's name is in."""
        return self.catalog(name[0]).database(name[1])

    def database_name(self, parts: Sequence[str]) -> tuple[str, str]:
        """The catalog and database that one or two parts name; none means the current ones."""
        if not parts:
            return self.full_name(("",))[:2]
        if len(parts) == 2:
            return parts[0], parts[1]
        if self.current_catalog is None:
            raise CatalogError(f"{parts[0]}: no catalog is in use; USE CATALOG first.")
        return self.current_catalog, parts[0]

    # ---- tables and views ----

    def find(self, parts: Sequence[str]) -> tuple[ObjectName, CatalogTable | CatalogView]:
        """The full name and the table or view of a name; refused if there is none."""
        return self.full_name(parts), self.resolve(parts)

    def get(self, parts: Sequence[str]) -> CatalogTable | CatalogView | None:
        """The table or view of a name; None if there is none."""
        name = self.full_name(parts)
        if name in self.temporary:
            return self.temporary[name]
        catalog = self.catalogs.get(name[0])
        database = catalog.databases.get(name[1]) if catalog else None
        return database.tables.get(name[2]) if database else None

    def resolve(self, parts: Sequence[str]) -> CatalogTable | CatalogView:
        """The table or view of a name; refused if there is none."""
        found = self.get(parts)
        if found is None:
            raise CatalogError(f"There is no table or view {'.'.join(self.full_name(parts))}{self._similar(parts)}.")
        return found

    def _similar(self, parts: Sequence[str]) -> str:
        name = self.full_name(parts)
        known = sorted(set(self.tables(name[:2])))
        return f"; there {'is' if len(known) == 1 else 'are'} {', '.join(known[:10])}" if known else ""

    def create(
        self,
        parts: Sequence[str],
        entry: CatalogTable | CatalogView,
        *,
        is_temporary: bool = False,
        if_not_exists: bool = False,
        or_replace: bool = False,
    ) -> None:
        """Add a table or view."""
        name = self.full_name(parts)
        if not is_temporary:
            self.database_of(name)
        place, key = self._place(name, is_temporary)
        if key in place and not or_replace:
            if if_not_exists:
                return
            kind = "Temporary table" if is_temporary else "Table"
            raise CatalogError(f"{kind} {'.'.join(name)} exists already; drop it first, or say IF NOT EXISTS.")
        place[key] = entry
        if not is_temporary:
            self.catalog(name[0]).changed()

    def replace(self, parts: Sequence[str], entry: CatalogTable | CatalogView) -> None:
        """Put another table or view in the place of one that is there."""
        name = self.full_name(parts)
        if name in self.temporary:
            self.temporary[name] = entry
            return
        self.database_of(name).tables[name[2]] = entry
        self.catalog(name[0]).changed()

    def drop(
        self, parts: Sequence[str], kind: type[CatalogTable] | type[CatalogView], is_temporary: bool, if_exists: bool
    ) -> bool:
        """Remove a table or view; returns whether it was there."""
        name = self.full_name(parts)
        word = "view" if kind is CatalogView else "table"
        if not is_temporary and isinstance(self.temporary.get(name), kind):
            raise CatalogError(
                f"There is a temporary {word} {'.'.join(name)}; drop it first, by DROP TEMPORARY {word.upper()}."
            )
        place, key = self._place(name, is_temporary)
        if not isinstance(place.get(key), kind):
            if if_exists:
                return False
            raise CatalogError(
                f"There is no {'temporary ' if is_temporary else ''}{word} {'.'.join(name)}; nothing was dropped."
            )
        del place[key]
        if not is_temporary:
            self.catalog(name[0]).changed()
        return True

    def _place(self, name: ObjectName, is_temporary: bool) -> tuple[dict[Any, CatalogTable | CatalogView], Any]:
        return (self.temporary, name) if is_temporary else (self._tables_of(name), name[2])

    def _tables_of(self, name: ObjectName) -> dict[str, CatalogTable | CatalogView]:
        catalog = self.catalogs.get(name[0])
        database = catalog.databases.get(name[1]) if catalog else None
        return database.tables if database else {}

    def tables(self, database: tuple[str, str], kind: type | None = None) -> Iterator[str]:
        """The names of the tables and views of a database, temporary ones too."""
        stored = self.catalog(database[0]).database(database[1]).tables
        hidden = {name[2]: entry for name, entry in self.temporary.items() if name[:2] == database}
        for name, entry in {**stored, **hidden}.items():
            if kind is None or isinstance(entry, kind):
                yield name

    # ---- functions ----

    def function_name(self, parts: Sequence[str]) -> ObjectName:
        """The full name of a function: in small letters, as Flink keeps it."""
        catalog, database, name = self.full_name(parts)
        return catalog, database, name.lower()

    def function(self, parts: Sequence[str]) -> CatalogFunction | None:
        """The user function of a name, whatever its case; None if there is none."""
        if len(parts) == 1 and parts[0].lower() in self.system_functions:
            return self.system_functions[parts[0].lower()]
        name = self.function_name(parts)
        if name in self.temporary_functions:
            return self.temporary_functions[name]
        catalog = self.catalogs.get(name[0])
        database = catalog.databases.get(name[1]) if catalog else None
        return database.functions.get(name[2]) if database else None
