"""Spark's logs inside a checkpoint directory: what a batch read up to, and how a query is made to begin somewhere.

Spark writes these files; here is what Penstock reads and writes of them. That a batch is final is said by its seal.
"""

from __future__ import annotations

import json
import uuid
from contextlib import suppress

from pyarrow import fs

from penstock.checkpoint import CheckpointDirectory
from penstock.errors import CheckpointError
from penstock.storage.disk_space import told_if_full

FIRST_BATCH = 0
"""Number of the batch that a query seems to have done when it begins at given offsets."""

_HEADER_LINES = 2  # version of the format, and settings
_NONE = "-"
_VERSION = "v1"


def log_location(directory: CheckpointDirectory) -> str:
    """Where Spark keeps its logs; handed to Spark, so it is a URI if the directory was given as one."""
    return directory.uri.rstrip("/") + "/spark"


def logged(directory: CheckpointDirectory, log: str) -> list[int]:
    """The batches in one of Spark's logs (`offsets`, `commits`), in their order."""
    selector = fs.FileSelector(f"{directory.path}/spark/{log}", allow_not_found=True)
    infos = directory.filesystem.get_file_info(selector)
    return sorted(int(info.base_name) for info in infos if info.base_name.isdigit())


def read_offsets(directory: CheckpointDirectory, batch: int) -> list[str | None]:
    """What each source of the query had been read up to after a batch, in the order of the plan; None: nothing yet."""
    path = f"{directory.path}/spark/offsets/{batch}"
    try:
        with directory.filesystem.open_input_file(path) as stream:
            lines = bytes(stream.read()).decode().splitlines()
    except OSError as error:
        raise CheckpointError(f"Spark's log of positions {path} cannot be read: {error}") from None
    except UnicodeDecodeError:
        raise CheckpointError(f"Spark's log of positions {path} is damaged: it is no text") from None
    if not lines or lines[0] != _VERSION or len(lines) <= _HEADER_LINES:
        raise CheckpointError(f"Spark's log of positions {path} has a format that this version cannot read")
    return [None if line == _NONE else line for line in lines[_HEADER_LINES:]]


def write_beginning(directory: CheckpointDirectory, offsets: list[str | None]) -> None:
    """Log that the first batch has read up to some offsets; a query that has a log must have an id too."""
    write_metadata(directory)
    lines = [_VERSION, default_settings(), *(_NONE if each is None else each for each in offsets)]
    write_log(directory, f"offsets/{FIRST_BATCH}", lines)


def commit_beginning(directory: CheckpointDirectory) -> None:
    """Log that the first batch is done."""
    write_log(directory, f"commits/{FIRST_BATCH}", [_VERSION, json.dumps({"nextBatchWatermarkMs": 0})])


def forget_all(directory: CheckpointDirectory) -> None:
    """Remove the logs of a query that never came to run."""
    path = f"{directory.path}/spark"
    if directory.filesystem.get_file_info(path).type == fs.FileType.Directory:
        directory.filesystem.delete_dir(path)


def write_metadata(directory: CheckpointDirectory) -> None:
    """Give the query an id."""
    write_log(directory, "metadata", [json.dumps({"id": str(uuid.uuid4())})])


def default_settings() -> str:
    """The settings of a batch that was planned without Spark; Penstock uses no watermark or state of Spark's."""
    return json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}})


def log_lines(directory: CheckpointDirectory, name: str) -> list[str]:
    """The lines of a log file; none if it is empty, not there, or no text."""
    try:
        with directory.filesystem.open_input_file(f"{directory.path}/spark/{name}") as stream:
            return bytes(stream.read()).decode().splitlines()
    except (FileNotFoundError, UnicodeDecodeError):
        return []


def write_log(directory: CheckpointDirectory, name: str, lines: list[str]) -> None:
    """Write a log file of Spark's, whole or not at all."""
    path = f"{directory.path}/spark/{name}"
    with told_if_full(path):
        directory.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        temporary = f"{path}.{uuid.uuid4().hex}.tmp"
        with directory.filesystem.open_output_stream(temporary) as stream:
            stream.write("\n".join(lines).encode())
        directory.filesystem.move(temporary, path)
    _remove_checksum(directory, path)


def remove_log(directory: CheckpointDirectory, name: str) -> None:
    """Remove a log file of Spark's."""
    path = f"{directory.path}/spark/{name}"
    with suppress(FileNotFoundError):
        directory.filesystem.delete_file(path)
    _remove_checksum(directory, path)


def _remove_checksum(directory: CheckpointDirectory, path: str) -> None:
    """The checksum that Hadoop may have put beside a file is no longer that of its content."""
    folder, _, name = path.rpartition("/")
    with suppress(FileNotFoundError):
        directory.filesystem.delete_file(f"{folder}/.{name}.crc")
