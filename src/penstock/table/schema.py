"""`Schema`, under PyFlink's module path."""

from penstock.table.table_descriptor import Schema

__all__ = ["Schema"]
