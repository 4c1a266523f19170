"""`Schema`, under PyFlink's module path."""

from typing import TYPE_CHECKING

from penstock.pyflink_names import names_from_elsewhere
from penstock.table.table_descriptor import Schema

__all__ = ["Schema"]

if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
