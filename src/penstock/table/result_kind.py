"""`ResultKind`, under PyFlink's module path."""

from penstock.table.table_result import ResultKind

__all__ = ["ResultKind"]
