"""Errors and warnings that Penstock raises on purpose; every message says where and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn


class PenstockError(Exception):
    """Base of all errors raised by Penstock itself."""


class GraphError(PenstockError, ValueError):
    """The program cannot become a job; raised before anything runs."""


class FunctionError(GraphError):
    """A SQL function is not known, or cannot take the arguments it was given."""


class EvaluationError(PenstockError):
    """A SQL expression has no value for a row, such as a division by zero or a text that is no number."""


class ConfigurationError(PenstockError, ValueError):
    """A setting has a value that cannot be used; raised before anything runs."""


class DeclaredTypeError(PenstockError, TypeError):
    """A value is not of the type that was declared for it, and cannot be made so without loss; `value` is it."""

    def __init__(self, text: str, value: object = None) -> None:
        super().__init__(text)
        self.value = value


class KeyEncodingError(PenstockError, TypeError):
    """A key has no canonical bytes, so it could not be found again after a restart."""


class StateError(PenstockError):
    """State was used in a way that has no meaning, such as outside a keyed context."""


class QueryableNameError(StateError):
    """Two states of a job have the same queryable name."""


class QueryError(PenstockError):
    """A query of state that cannot be answered; `status` is the number that HTTP has for it."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


class PickledStateWarning(UserWarning):
    """State has no declared type, so that its bytes depend on the classes in it."""


class LikelyMistakeWarning(UserWarning):
    """A program runs, but most likely does not do what it is meant to; the text says why and what to write instead."""


class CheckpointError(PenstockError):
    """A checkpoint directory is unreadable, damaged or belongs to another job."""


class TakenOverError(CheckpointError):
    """Another process has become the writer of a checkpoint directory; this one may write nothing more."""


class StorageFullError(CheckpointError):
    """A disk has no space left for what a job must write."""


class SourceError(PenstockError):
    """A source could not be listed or read."""


class SinkError(PenstockError):
    """A sink could not write or publish."""


class BrokerError(PenstockError):
    """A local Kafka broker could not be fetched, started, asked or stopped."""


class SparkLostError(PenstockError):
    """Spark's Java process or the session of a job is gone; a restart of the job could not find it again."""


class WorkerDiedError(PenstockError):
    """A Python process that runs a job's functions died, again and again."""


class JobFailedError(PenstockError):
    """A job ended with a failure; the text starts with the user's own traceback."""


class JobCancelledError(PenstockError):
    """The result of a job was asked for, but the job was cancelled."""


class JobNotFoundError(PenstockError):
    """No running job is meant by an id or a name, or more than one."""


class SqlError(PenstockError, ValueError):
    """A statement of SQL, or a table, cannot be used as it is; the text says where and what to do."""


class SqlParserError(SqlError):
    """A text is not SQL that Penstock reads; `line` and `column` say where, counted from 1."""

    def __init__(self, text: str, line: int = 0, column: int = 0) -> None:
        super().__init__(text)
        self.line = line
        self.column = column


class SqlValidationError(SqlError):
    """A query names, types or combines things in a way that has no meaning; `line` and `column` say where, from 1."""

    def __init__(self, text: str, line: int = 0, column: int = 0) -> None:
        super().__init__(text)
        self.line = line
        self.column = column


class CatalogError(SqlError):
    """A catalog, database, table, view or function is missing, or is there already."""


class StreamsError(PenstockError, ValueError):
    """A topology of `penstock.kstreams`, or what it was given, cannot be used as it is; the text says what to do."""


class HintsAtState:
    """Base of user functions: an attribute that Java's functions have says what to write instead."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            hint = ""
            if name in ("get_runtime_context", "getRuntimeContext", "runtime_context"):
                hint = "; ask for state in open(self, runtime_context), as in runtime_context.get_state(descriptor)"
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)
