"""The checkpoint directory of a job: its identity, seals, state files, and the removal of what nobody needs.

Layout: `penstock/job.json`, `penstock/seals/<version>.seal`, `penstock/state/<vertex>/<subtask>/...`, and `spark/`
with Spark's own offset and commit logs.
"""

from __future__ import annotations

import json
import os
import urllib.parse
import uuid
from typing import Any

from pyarrow import fs

from penstock.checkpoint.seal import Seal, decode_seal, encode_seal
from penstock.errors import CheckpointError
from penstock.state.versions import referenced_files

FORMAT = 1


class CheckpointDirectory:
    """A checkpoint directory on any file system that pyarrow reaches."""

    def __init__(self, uri: str, *, retained: int = 3) -> None:
        self._retained = retained
        self.filesystem, self.path = resolve(uri)
        # Tasks get the URI, and have a working directory of their own.
        self.uri = uri if _has_scheme(uri) else self.path
        self._references: dict[int, set[str]] = {}
        self._owner = b""

    @property
    def spark_path(self) -> str:
        """Where Spark keeps its logs; handed to Spark, so it is a URI if the directory was given as one."""
        return self.uri.rstrip("/") + "/spark"

    def state_path(self, vertex_uid: str, subtask: int) -> str:
        """Where the state files of a subtask are."""
        return f"{self.path}/penstock/state/{urllib.parse.quote(vertex_uid, safe='')}/{subtask}"

    def adopt(self, job_name: str, fingerprint: dict[str, Any]) -> str:
        """Make the directory this job's, or check that it is; returns the job's id."""
        path = f"{self.path}/penstock/job.json"
        try:
            existing = self._read(path)
            if existing is None:
                self._refuse_foreign()
                job_id = uuid.uuid4().hex
                body = {"format": FORMAT, "job_id": job_id, "job_name": job_name, "plan": fingerprint}
                self._write(path, json.dumps(body, indent=1).encode())
                return job_id
        except OSError as error:
            raise CheckpointError(f"checkpoint directory {self.uri} cannot be used: {error}") from None
        return self._check(existing, job_name, fingerprint)

    def _check(self, existing: bytes, job_name: str, fingerprint: dict[str, Any]) -> str:
        try:
            found = json.loads(existing)
            found_format, found_plan, job_id = found["format"], found["plan"], str(found["job_id"])
        except (ValueError, KeyError, TypeError):
            raise CheckpointError(f"{self.uri}/penstock/job.json is not a Penstock job file") from None
        if found_format != FORMAT:
            raise CheckpointError(f"checkpoint {self.uri} has format {found_format}; this version reads {FORMAT}")
        if found_plan != fingerprint:
            raise CheckpointError(
                f"checkpoint {self.uri} belongs to another job ({found.get('job_name')!r}): "
                f"{_difference(found_plan, fingerprint)}; choose another checkpoint directory for {job_name!r}"
            )
        return job_id

    def _refuse_foreign(self) -> None:
        """A directory with other things in it is most likely a mistake, and cleaning would be a disaster."""
        info = self.filesystem.get_file_info(self.path)
        if info.type == fs.FileType.File:
            raise CheckpointError(f"checkpoint directory {self.uri} is a file")
        if info.type == fs.FileType.Directory:
            names = [item.base_name for item in self.filesystem.get_file_info(fs.FileSelector(self.path))]
            # Ours, if we were killed before job.json had its name: then nothing else can have been written yet.
            if names and (names != ["penstock"] or not self._is_torn_beginning()):
                raise CheckpointError(
                    f"checkpoint directory {self.uri} is not empty and holds no Penstock job "
                    f"(found {sorted(names)[0]!r}); choose an empty or new directory"
                )

    def _is_torn_beginning(self) -> bool:
        infos = self.filesystem.get_file_info(fs.FileSelector(f"{self.path}/penstock"))
        return all(_is_torn(info) and info.base_name.startswith("job.json.") for info in infos)

    def take_over(self, *, with_spark: bool = True) -> None:
        """Become the only writer of the directory: whoever held it before will not be able to seal any more.

        Called when no task of ours runs; checks that Spark's logs and the seals tell the same story, and removes
        files that no retained seal names.
        """
        self._owner = uuid.uuid4().hex.encode()
        self._write(self._owner_path, self._owner)
        if with_spark:
            self._check_logs()
        self.clean()

    @property
    def _owner_path(self) -> str:
        return f"{self.path}/penstock/owner"

    def _check_logs(self) -> None:
        sealed = self.sealed_versions()
        logged = self._numbers(f"{self.path}/spark/offsets")
        committed = self._numbers(f"{self.path}/spark/commits")
        if sealed and (not logged or logged[-1] < sealed[-1]):
            raise CheckpointError(
                f"checkpoint {self.uri} has state of version {sealed[-1]}, but Spark's log of positions ends at "
                f"{logged[-1] if logged else 'nothing'}: files under spark/ were removed; restore them or start anew"
            )
        if committed and (not sealed or sealed[-1] < committed[-1]):
            raise CheckpointError(
                f"checkpoint {self.uri} has no state for batch {committed[-1]}, which Spark's log says is done: files "
                "under penstock/ were removed; restore them or start anew"
            )

    def _numbers(self, path: str) -> list[int]:
        infos = self.filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return sorted(int(info.base_name) for info in infos if info.base_name.isdigit())

    def read_seal(self, version: int) -> Seal | None:
        """The seal of a version, or None if that version was never sealed. Version -1 is the empty beginning."""
        if version < 0:
            return Seal()
        path = self._seal_path(version)
        data = self._read(path)
        return None if data is None else decode_seal(data, path)

    def write_seal(self, seal: Seal) -> None:
        """Make a version final, then forget the oldest."""
        if self._owner and self._read(self._owner_path) != self._owner:
            raise CheckpointError(
                f"checkpoint {self.uri} was taken over by another process: this job has been started a second time"
            )
        self._write(self._seal_path(seal.version), encode_seal(seal))
        self._references[seal.version] = self._files_of(seal)
        self._forget_old(seal.version)

    def _seal_path(self, version: int) -> str:
        return f"{self.path}/penstock/seals/{version:020d}.seal"

    def _files_of(self, seal: Seal) -> set[str]:
        return {
            f"{self.state_path(uid, subtask)}/{name}"
            for (uid, subtask), entry in seal.entries.items()
            for name in referenced_files([entry.state])
        }

    def _forget_old(self, newest: int) -> None:
        old = [version for version in self._references if version <= newest - self._retained]
        dropped = set().union(*(self._references.pop(version) for version in old))
        needed = set().union(*self._references.values())
        for version in old:
            self._delete(self._seal_path(version))
        for path in dropped - needed:
            self._delete(path)

    def clean(self) -> int:
        """Before a job (re)starts: remove files that no retained seal names. Returns how many went."""
        self._references = {version: self._files_of(self._sealed(version)) for version in self.sealed_versions()}
        needed = set().union(*self._references.values())
        root = f"{self.path}/penstock"
        selector = fs.FileSelector(root, recursive=True, allow_not_found=True)
        orphans = [
            info.path
            for info in self.filesystem.get_file_info(selector)
            if _is_torn(info)
            or (info.type == fs.FileType.File and info.path.startswith(f"{root}/state/") and info.path not in needed)
        ]
        for path in orphans:
            self._delete(path)
        return len(orphans)

    def sealed_versions(self) -> list[int]:
        """The versions that have a seal, oldest first."""
        selector = fs.FileSelector(f"{self.path}/penstock/seals", allow_not_found=True)
        infos = self.filesystem.get_file_info(selector)
        return sorted(int(info.base_name[:-5]) for info in infos if info.base_name.endswith(".seal"))

    def _sealed(self, version: int) -> Seal:
        seal = self.read_seal(version)
        assert seal is not None
        return seal

    def _read(self, path: str) -> bytes | None:
        try:
            with self.filesystem.open_input_file(path) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def _write(self, path: str, data: bytes) -> None:
        self.filesystem.create_dir(os.path.dirname(path), recursive=True)
        temporary = f"{path}.{uuid.uuid4().hex}.tmp"
        with self.filesystem.open_output_stream(temporary) as stream:
            stream.write(data)
        self.filesystem.move(temporary, path)

    def _delete(self, path: str) -> None:
        try:
            self.filesystem.delete_file(path)
        except FileNotFoundError:
            return


def resolve(uri: str) -> tuple[fs.FileSystem, str]:
    """File system and path of a URI or plain path."""
    try:
        if _has_scheme(uri):
            filesystem, path = fs.FileSystem.from_uri(uri)
            return filesystem, path.rstrip("/")
        return fs.LocalFileSystem(), os.path.abspath(uri)
    except (OSError, ValueError, TypeError) as error:
        raise CheckpointError(f"checkpoint directory {uri!r} cannot be reached: {error}") from None


def _is_torn(info: fs.FileInfo) -> bool:
    """Whether this is what a killed process left of a file it was writing."""
    return bool(info.type == fs.FileType.File and info.base_name.endswith(".tmp"))


def _has_scheme(uri: str) -> bool:
    return "://" in uri or uri.startswith("file:")


def _difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    old = {vertex["uid"]: vertex for vertex in found.get("vertices", [])}
    new = {vertex["uid"]: vertex for vertex in wanted["vertices"]}
    for uid in new.keys() - old.keys():
        return f"it has no operator {new[uid]['name']!r} (uid {uid!r})"
    for uid in old.keys() - new.keys():
        return f"it has operator {old[uid]['name']!r} (uid {uid!r}), which this job lacks"
    for uid, vertex in new.items():
        for aspect in ("parallelism", "max_parallelism", "operators", "name"):
            if vertex[aspect] != old[uid].get(aspect):
                return f"{aspect} of operator {vertex['name']!r} was {old[uid].get(aspect)}, now {vertex[aspect]}"
    return "its operators come in another order"
