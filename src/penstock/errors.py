"""Errors and warnings that Penstock raises on purpose; every message says where and what to do."""

from __future__ import annotations


class PenstockError(Exception):
    """Base of all errors raised by Penstock itself."""


class GraphError(PenstockError, ValueError):
    """The program cannot become a job; raised before anything runs."""


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


class PickledStateWarning(UserWarning):
    """State has no declared type, so that its bytes depend on the classes in it."""


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
