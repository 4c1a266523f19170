"""Catalogs: what tables, views and functions there are, under `catalog.database.name`."""

from typing import TYPE_CHECKING

from penstock.pyflink_names import names_from_elsewhere
from penstock.table.catalog.catalog import Catalog, Database
from penstock.table.catalog.columns import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    PrimaryKey,
    TableSchema,
    WatermarkSpec,
)
from penstock.table.catalog.entries import CatalogDatabase, CatalogFunction, CatalogTable, CatalogView, Distribution
from penstock.table.catalog.lookup import CatalogManager
from penstock.table.catalog.names import ObjectIdentifier, ObjectPath
from penstock.table.resolved_schema import ResolvedSchema

__all__ = [
    "Catalog",
    "CatalogDatabase",
    "CatalogFunction",
    "CatalogManager",
    "CatalogTable",
    "CatalogView",
    "Column",
    "ComputedColumn",
    "Database",
    "Distribution",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "PrimaryKey",
    "ResolvedSchema",
    "TableSchema",
    "WatermarkSpec",
]

if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
