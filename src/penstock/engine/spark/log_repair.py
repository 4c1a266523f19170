"""Spark's logs after a power cut: files that are empty or cut short are made again from the seals, or left out.

Spark writes its logs without syncing them and refuses to start with a newest file that is not whole. The seals know
better: what a batch read up to is in its seal, and a batch without a seal is run again anyway.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from itertools import chain

from pyarrow import fs

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.engine.spark.spark_logs import (
    default_settings,
    forget_all,
    log_lines,
    logged,
    remove_log,
    write_log,
    write_metadata,
)
from penstock.errors import CheckpointError

_LOOKED_AT = 3  # Spark reads the last two of each log; older ones are only kept
_VERSION = re.compile(r"v\d+")
_CONTINUOUS = "continuous"
"""A file in the place of the logs that says why there are none."""

_log = logging.getLogger(__name__)


class SparkLogs:
    """Spark's logs as the engine's log of a checkpoint directory: `directory.take_over(SparkLogs())`.

    In continuous mode Spark keeps no logs: what its logs say of later batches than the last seal is forgotten then, and
    when a job comes back to micro-batches, they are made to say what the last seal says.
    """

    def __init__(self, *, is_continuous: bool = False) -> None:
        self._is_continuous = is_continuous

    def mend(self, directory: CheckpointDirectory) -> None:
        """Mend what a power cut left, then check that logs and seals tell the same story."""
        if self._is_continuous:
            forget_all(directory)
            write_log(directory, _CONTINUOUS, ["v1"])
            return
        repair_logs(directory)
        follow_seals(directory)
        _check_logs(directory)

    def last_done(self, directory: CheckpointDirectory) -> int:
        """The last batch that Spark's log says is done."""
        return max(logged(directory, "commits"), default=-1)


def _check_logs(directory: CheckpointDirectory) -> None:
    sealed = directory.sealed_versions()
    offsets, commits = logged(directory, "offsets"), logged(directory, "commits")
    if sealed and (not offsets or offsets[-1] < sealed[-1]):
        raise CheckpointError(
            f"checkpoint {directory.uri} has state of version {sealed[-1]}, but Spark's log of positions ends at "
            f"{offsets[-1] if offsets else 'nothing'}: files under spark/ were removed; restore them, or start from "
            "scratch"
        )
    if commits and (not sealed or sealed[-1] < commits[-1]):
        raise CheckpointError(
            f"checkpoint {directory.uri} has no state for batch {commits[-1]}, which Spark's log says is done: files "
            "under penstock/ were removed; restore them, or start from scratch"
        )


def follow_seals(directory: CheckpointDirectory) -> None:
    """Make logs where continuous mode left none: a query goes on from the last seal as from a batch of its own."""
    sealed = directory.sealed_versions()
    if not log_lines(directory, _CONTINUOUS):
        return
    if sealed:
        # The query runs the last version once more: it finds the seal, publishes it again and goes on from there.
        write_metadata(directory)
        for version in range(max(0, sealed[-1] - 1), sealed[-1] + 1):
            seal = directory.read_seal(version) or directory.read_seal(sealed[-1])
            assert seal is not None and seal.offset is not None, "continuous mode seals what it has read"
            write_log(directory, f"offsets/{version}", ["v1", default_settings(), json.dumps(seal.offset.to_json())])
        if sealed[-1] > 0:
            commit = ["v1", json.dumps({"nextBatchWatermarkMs": 0})]
            write_log(directory, f"commits/{sealed[-1] - 1}", commit)
    remove_log(directory, _CONTINUOUS)


def repair_logs(directory: CheckpointDirectory) -> None:
    """Mend what can be mended; called by the one driver that holds the directory, before Spark reads anything."""
    seals = {version: _seal(directory, version) for version in directory.sealed_versions()[-_LOOKED_AT:]}
    _repair_metadata(directory)
    for batch in reversed(logged(directory, "commits")[-_LOOKED_AT:]):
        if not _is_commit(log_lines(directory, f"commits/{batch}")):
            _tell(directory, f"commits/{batch}", "skipped: the batch is only published again, or runs again")
            remove_log(directory, f"commits/{batch}")
    for batch in reversed(logged(directory, "offsets")[-_LOOKED_AT:]):
        _repair_offsets(directory, batch, seals)
    _check_source_logs(directory, seals)


def _repair_offsets(directory: CheckpointDirectory, batch: int, seals: dict[int, Seal | None]) -> None:
    name = f"offsets/{batch}"
    lines = log_lines(directory, name)
    seal = seals.get(batch)
    if seal is not None:
        if seal.offset is not None and (not _is_offsets(lines) or _is_cut(lines, seal)):
            _tell(directory, name, "restored from the seal of the batch")
            before = log_lines(directory, f"offsets/{batch - 1}")
            settings = next((each[1] for each in (lines, before) if _has_settings(each)), default_settings())
            write_log(directory, name, ["v1", settings, json.dumps(seal.offset.to_json()), *_frames_of(seal)])
    elif batch not in seals and not _is_offsets(lines) and batch == logged(directory, "offsets")[-1]:
        _tell(directory, name, "skipped: the batch was not finished, and is planned again")
        remove_log(directory, name)


def _frames_of(seal: Seal) -> list[str]:
    return ["-" if each is None else each for each in chain.from_iterable(seal.frames.values())]


def _is_cut(lines: list[str], seal: Seal) -> bool:
    """Whether a log that looks whole ends before the seal does: half a number is a number."""
    found, wanted = "\n".join(lines[3:]), "\n".join(_frames_of(seal))
    return found != wanted and wanted.startswith(found)


def _is_offsets(lines: list[str]) -> bool:
    return _has_settings(lines) and len(lines) > 2 and all(map(_is_offset, lines[2:]))


def _is_offset(text: str) -> bool:
    return text == "-" or _is_json(text)


def _has_settings(lines: list[str]) -> bool:
    return len(lines) > 1 and _VERSION.fullmatch(lines[0]) is not None and _is_json(lines[1])


def _is_commit(lines: list[str]) -> bool:
    return _has_settings(lines)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _repair_metadata(directory: CheckpointDirectory) -> None:
    """The id of the query tells nothing that is needed, but Spark wants one."""
    lines = log_lines(directory, "metadata")
    if logged(directory, "offsets") and not (lines and _is_json("\n".join(lines))):
        _tell(directory, "metadata", "made anew")
        write_metadata(directory)


def _check_source_logs(directory: CheckpointDirectory, seals: dict[int, Seal | None]) -> None:
    """The log that a file source of Spark's keeps: what no seal speaks of is found again, the rest is not to be had."""
    newest = next((seal for _, seal in sorted(seals.items(), reverse=True) if seal is not None), Seal())
    for number, offset in enumerate(chain.from_iterable(newest.frames.values()), start=1):
        for entry, name in _newest_entries(directory, number):
            lines = log_lines(directory, name)
            if lines and _VERSION.fullmatch(lines[0]) and all(map(_is_json, lines[1:])):
                continue
            if entry <= _log_offset(offset):
                raise CheckpointError(
                    f"checkpoint {directory.uri}: spark/{name}, which says what files a source has read, is empty or "
                    "truncated; restore it from a copy, resume from a savepoint, or start from scratch in an empty "
                    "directory"
                )
            _tell(directory, name, "skipped: its files are listed again")
            remove_log(directory, name)


def _newest_entries(directory: CheckpointDirectory, number: int) -> Iterator[tuple[int, str]]:
    folder = f"sources/{number}"
    selector = fs.FileSelector(f"{directory.path}/spark/{folder}", allow_not_found=True)
    names = [info.base_name for info in directory.filesystem.get_file_info(selector)]
    entries = [(int(name.removesuffix(".compact")), name) for name in names if name.removesuffix(".compact").isdigit()]
    for entry, name in sorted(entries)[-1:]:
        yield entry, f"{folder}/{name}"


def _log_offset(offset: str | None) -> int:
    """The newest entry of a file source's log that a seal needs; other sources keep no such log."""
    found = None if offset is None else json.loads(offset)
    return int(found.get("logOffset", -1)) if isinstance(found, dict) else -1


def _seal(directory: CheckpointDirectory, version: int) -> Seal | None:
    try:
        return directory.read_seal(version)
    except CheckpointError:
        return None  # whether it can be done without shows when the state is checked


def _tell(directory: CheckpointDirectory, name: str, what: str) -> None:
    _log.warning(
        "checkpoint %s: spark/%s is empty or cut short, as after a power cut; it is %s", directory.uri, name, what
    )
