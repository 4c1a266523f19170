"""Names of what is in a catalog."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import CatalogError

__all__ = ["ObjectIdentifier", "ObjectPath"]


@dataclass(frozen=True)
class ObjectPath:
    """A table, view or function of a catalog: its database and its name."""

    database_name: str
    object_name: str

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """The path of `database.name`."""
        parts = full_name.split(".")
        if len(parts) != 2:
            raise CatalogError(f"'{full_name}' is no path: expected database.name.")
        return ObjectPath(*parts)

    def get_database_name(self) -> str:
        """The database."""
        return self.database_name

    def get_object_name(self) -> str:
        """The name in it."""
        return self.object_name

    def get_full_name(self) -> str:
        """Both, with a dot between."""
        return f"{self.database_name}.{self.object_name}"

    def __str__(self) -> str:
        return self.get_full_name()


@dataclass(frozen=True)
class ObjectIdentifier:
    """A table, view or function of any catalog."""

    catalog_name: str
    database_name: str
    object_name: str

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """The identifier of three names."""
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """The catalog."""
        return self.catalog_name

    def get_database_name(self) -> str:
        """The database."""
        return self.database_name

    def get_object_name(self) -> str:
        """The name in it."""
        return self.object_name

    def to_object_path(self) -> ObjectPath:
        """The path inside of the catalog."""
        return ObjectPath(self.database_name, self.object_name)

    def to_list(self) -> list[str]:
        """The three names."""
        return [self.catalog_name, self.database_name, self.object_name]

    def as_serializable_string(self) -> str:
        """The names for statements, in backquotes."""
        return ".".join(f"`{each}`" for each in self.to_list())

    def as_summary_string(self) -> str:
        """The names for people."""
        return ".".join(self.to_list())
