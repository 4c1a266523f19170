"""Finding out what a path holds: a savepoint, or the checkpoint directory of another job."""

from __future__ import annotations

from pyarrow import fs

from penstock.checkpoint.directory import resolve
from penstock.errors import CheckpointError
from penstock.savepoint.folder import SavepointOrigin
from penstock.savepoint.origin import Origin
from penstock.savepoint.retained import CheckpointOrigin


def open_origin(uri: str) -> Origin:
    """What a job can go on from at a path."""
    filesystem, path = resolve(uri)
    try:
        kinds = [info.type for info in filesystem.get_file_info([path, f"{path}/penstock/job.json"])]
    except OSError as error:
        raise CheckpointError(f"{uri} cannot be read: {error}") from None
    if kinds[0] == fs.FileType.NotFound:
        raise CheckpointError(f"there is no savepoint or checkpoint at {uri}")
    return CheckpointOrigin.newest(uri) if kinds[1] == fs.FileType.File else SavepointOrigin(uri)
