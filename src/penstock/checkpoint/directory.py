"""The checkpoint directory of a job: its identity, seals, state files, and the removal of what nobody needs.

Layout: `penstock/job.json`, `penstock/owner`, the driver that may write, and `penstock/drivers/<owner>` for what it has
not finished; `penstock/seals/<version>.seal`, `penstock/state/<vertex>/<subtask>/...`,
`penstock/staged/<sink>/...` with what waits to be published, and `spark/` with Spark's own offset and commit logs, of
which only `is_done` and `source_log` are known here; the rest is the engine's.
"""

from __future__ import annotations

import json
import logging
import os
import urllib.parse
import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Protocol

from pyarrow import fs

from penstock.checkpoint.exclusive import create_exclusively
from penstock.checkpoint.seal import Seal, decode_seal, encode_seal
from penstock.common.plain_data import other_format
from penstock.connectors.sink import Hold
from penstock.connectors.stages import staged_file_names
from penstock.errors import CheckpointError, StorageFullError, TakenOverError
from penstock.state.files import damage_of
from penstock.storage.disk_space import told_if_full

FORMAT = 2
"""What is written. Format 1 had pickled seals."""

_log = logging.getLogger(__name__)


class EngineLog(Protocol):
    """What an engine writes down beside the seals, where it keeps a log of its own."""

    def mend(self, directory: CheckpointDirectory) -> None:
        """Called after a take-over and before anything is read: mend the log, or refuse one that belies the seals."""

    def last_done(self, directory: CheckpointDirectory) -> int:
        """The last version that will not be run again, whatever becomes of its seal; -1 for none."""


class SealsOnly:
    """For engines that keep no log: the newest version may be run again, those before may not."""

    def mend(self, directory: CheckpointDirectory) -> None:
        """There is nothing to mend."""

    def last_done(self, directory: CheckpointDirectory) -> int:
        """The one before the newest."""
        return max(directory.sealed_versions(), default=-1) - 1


_SEALS_ONLY = SealsOnly()


class CheckpointDirectory:
    """A checkpoint directory on any file system that pyarrow reaches."""

    def __init__(self, uri: str, *, retained: int = 3) -> None:
        self._retained = retained
        self.filesystem, self.path = resolve(uri)
        self.uri = absolute_uri(uri)
        self._references: dict[int, set[str]] = {}
        self._pinned: list[int] = []
        self._owner = b""

    @property
    def staging_uri(self) -> str:
        """Where sinks put what waits to be published."""
        return self.uri.rstrip("/") + "/penstock/staged"

    @property
    def hold(self) -> Hold:
        """What tells writers whether the driver still holds the directory; nothing before it has taken it over."""
        if not self._owner:
            return Hold()
        return Hold(self.uri.rstrip("/") + "/penstock/owner", self._owner.decode())

    def state_path(self, vertex_uid: str, subtask: int) -> str:
        """Where the state files of a subtask are."""
        return f"{self.path}/penstock/state/{urllib.parse.quote(vertex_uid, safe='')}/{subtask}"

    def adopt(self, job_name: str, fingerprint: dict[str, Any], adopted: dict[str, Any] | None = None) -> str:
        """Make the directory this job's, or check that it is; returns the job's id.

        `adopted` is what the job took over from another one's savepoint and needs at every start.
        """
        path = self._job_path
        try:
            existing = self._read(path)
            if existing is None:
                self._refuse_foreign()
                job_id = uuid.uuid4().hex
                body = {"format": FORMAT, "job_id": job_id, "job_name": job_name, "plan": fingerprint}
                body |= {"adopted": adopted} if adopted else {}
                body["checksum"] = _checksum(body)
                if self._is_created(path, json.dumps(body, indent=1).encode()):
                    return job_id
                existing = self._read(path) or b""  # another start was quicker, and its id is the job's
        except OSError as error:
            raise CheckpointError(f"checkpoint directory {self.uri} cannot be used: {error}") from None
        return self._check(existing, job_name, fingerprint)

    @property
    def _job_path(self) -> str:
        return f"{self.path}/penstock/job.json"

    def read_job(self) -> dict[str, Any] | None:
        """Name, id and plan of the job that the directory belongs to; None if there is none."""
        try:
            existing = self._read(self._job_path)
        except OSError as error:
            raise CheckpointError(f"checkpoint directory {self.uri} cannot be used: {error}") from None
        return None if existing is None else self._job_of(existing)

    def _job_of(self, existing: bytes) -> dict[str, Any]:
        """Return the content of job.json; files of earlier releases have no checksum."""
        try:
            found = dict(json.loads(existing))
        except (ValueError, TypeError):
            raise CheckpointError(f"{self.uri}/penstock/job.json is not a Penstock job file") from None
        if "checksum" in found and found["checksum"] != _checksum(found):
            raise CheckpointError(
                f"{self.uri}/penstock/job.json is damaged: its checksum does not match. Restore it from a backup, or "
                f"start from a savepoint with another checkpoint directory."
            )
        return found

    def abandon(self) -> None:
        """Give up a directory whose job never came to run, so that another program can use it."""
        for path in (f"{self.path}/{name}" for name in ("spark", "offsets", "penstock")):
            if self.filesystem.get_file_info(path).type == fs.FileType.Directory:
                self.filesystem.delete_dir(path)

    def is_held(self) -> bool:
        """Whether this process took the directory over, and nobody has since."""
        return self._read(self._owner_path) == self._owner

    def was_taken_over(self) -> bool:
        """Whether this process took the directory over, and somebody else has since."""
        return bool(self._owner) and not self.is_held()

    def discard(self) -> None:
        """Delete what the job has here, for good; not if somebody else has taken the directory over since."""
        try:
            if self.is_held():
                self.abandon()
        except OSError as error:
            _log.warning("checkpoint %s of a cancelled job could not be deleted: %s", self.uri, error)

    @contextmanager
    def pinned(self, version: int) -> Iterator[None]:
        """Keep a version and its files while somebody reads them."""
        self._pinned.append(version)
        try:
            yield
        finally:
            self._pinned.remove(version)

    def _check(self, existing: bytes, job_name: str, fingerprint: dict[str, Any]) -> str:
        found = self._job_of(existing)
        try:
            found_format, found_plan, job_id = found["format"], found["plan"], str(found["job_id"])
        except KeyError:
            raise CheckpointError(f"{self.uri}/penstock/job.json is not a Penstock job file") from None
        if found_format != FORMAT:
            raise CheckpointError(other_format(f"checkpoint {self.uri}", found_format, FORMAT))
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
                    f"checkpoint directory {self.uri} is not empty and contains no Penstock job (found "
                    f"{sorted(names)[0]!r}); choose an empty or new directory"
                )

    def _is_torn_beginning(self) -> bool:
        infos = self.filesystem.get_file_info(fs.FileSelector(f"{self.path}/penstock"))
        return all(_is_torn(info) and info.base_name.startswith("job.json.") for info in infos)

    def take_over(self, log: EngineLog = _SEALS_ONLY) -> None:
        """Become the only writer of the directory: whoever held it before will not be able to seal any more.

        Called when no task of ours runs; has the engine's log mended, checks that the files of the newest version are
        there, and removes files that no retained seal names.
        """
        owner = uuid.uuid4().hex.encode()
        with told_if_full(self._drafts_of(owner)):
            self.filesystem.create_dir(self._drafts_of(owner), recursive=True)
        self._write(self._owner_path, owner)
        self._owner = owner
        self._shut_out_others()
        log.mend(self)
        self._do_without_damaged(log.last_done(self))
        self.clean()

    @property
    def _owner_path(self) -> str:
        return f"{self.path}/penstock/owner"

    def _drafts_of(self, owner: bytes) -> str:
        """Where the seals of a driver are written before they get their names."""
        return f"{self.path}/penstock/drivers/{owner.decode()}"

    def _shut_out_others(self) -> None:
        """Remove the folders of earlier drivers.

        One that was paused, however long ago it looked whether it held the directory, can then make no seal: it can
        neither write a draft nor name the one it had. What it named before is seen by whoever looks for seals after
        this.
        """
        own = self._drafts_of(self._owner)
        for info in self.filesystem.get_file_info(fs.FileSelector(os.path.dirname(own))):
            while info.path != own and self.filesystem.get_file_info(info.path).type != fs.FileType.NotFound:
                with suppress(OSError):  # it may be writing just now
                    self.filesystem.delete_dir(info.path)

    def _do_without_damaged(self, last_done: int) -> None:
        """Set a damaged newest version aside if its batch is run again anyway; refuse to start if it is done."""
        sealed = self.sealed_versions()
        before, newest = [-1, -1, *sealed][-2:]  # the numbers of versions may have gaps
        damage = self._damage(newest, before if newest > last_done else None)
        if not damage:
            return
        is_published = self._may_be_published(newest)
        if newest <= last_done or is_published or not self._can_go_on_from(before):
            whole = [version for version in sealed[:-1] if not self._damage(version)]
            raise CheckpointError(_damage_text(self.uri, newest, damage, whole, is_published=is_published))
        _log.warning(
            "checkpoint %s: version %d is damaged (%s); its batch was not finished and runs again from version %d",
            self.uri,
            newest,
            damage[0],
            before,
        )
        self.filesystem.move(self._seal_path(newest), f"{self._seal_path(newest)}.damaged")

    def _may_be_published(self, version: int) -> bool:
        """Whether output of a version may be out already: then its batch must not be run again.

        A seal that cannot be read was not yet on the disk when the power went (`write_seal`), so nothing was published.
        """
        try:
            return any((self.read_seal(version) or Seal()).committables.values())
        except CheckpointError:
            return False

    def _can_go_on_from(self, version: int) -> bool:
        # The beginning is not empty for a job that took over another one's state.
        begins_empty = "adopted" not in (self.read_job() or {})
        return begins_empty if version < 0 else not self._damage(version)

    def _damage(self, version: int, read_since: int | None = None) -> list[str]:
        """What is wrong with a version; the files that it has and `read_since`, a version before, has not are read."""
        try:
            seal = self.read_seal(version)
        except CheckpointError as error:
            return [str(error)]
        if seal is None:
            return [f"{self._seal_path(version)} is missing"]
        before = set() if read_since is None else self._files_named_by(read_since)
        found = (
            damage_of(self.filesystem, path, size, read=read_since is not None and path not in before)
            for path, size in self._files_of(seal).items()
        )
        return [problem for problem in found if problem is not None]

    def read_seal(self, version: int) -> Seal | None:
        """The seal of a version, or None if that version was never sealed. Version -1 is the empty beginning."""
        if version < 0:
            return Seal()
        path = self._seal_path(version)
        data = self._read(path)
        return None if data is None else decode_seal(data, path)

    def write_seal(self, seal: Seal) -> None:
        """Make a version final, then forget the oldest."""
        if self.was_taken_over():
            raise self.taken_over()
        data = encode_seal(replace(seal, owner=self._owner.decode()))
        # On the disk before sinks publish: a power cut must not leave output without the seal that speaks of it.
        if not self._is_created(self._seal_path(seal.version), data, is_synced=any(seal.committables.values())):
            self._refuse_foreign_seal(seal.version, data)
        self._references[seal.version] = set(self._files_of(seal))
        self._forget_old()

    def taken_over(self) -> TakenOverError:
        """What a driver says that is no longer the one."""
        return TakenOverError(
            f"checkpoint {self.uri} was taken over by another process: this job has been started a second time"
        )

    def _refuse_foreign_seal(self, version: int, data: bytes) -> None:
        """A version that has a seal is final; one of our own may be there after all, if a store answers twice."""
        path = self._seal_path(version)
        if self._read(path) == data:
            return
        raise TakenOverError(
            f"checkpoint {self.uri} has a seal of version {version} that this process did not write ({path}): the job "
            "has been started a second time; run only one of the two"
        )

    def _seal_path(self, version: int) -> str:
        return f"{self.path}/penstock/seals/{version:020d}.seal"

    def _files_of(self, seal: Seal) -> dict[str, int]:
        """Paths and sizes of the state files of a version."""
        return {
            f"{self.state_path(uid, subtask)}/{file.name}": file.bytes
            for (uid, subtask), entry in seal.entries.items()
            for file in entry.state.files
        }

    def _forget_old(self) -> None:
        # By count and not by number: an engine may number versions with gaps.
        old = [version for version in sorted(self._references)[: -self._retained] if version not in self._pinned]
        dropped = set().union(*(self._references.pop(version) for version in old))
        needed = set().union(*self._references.values())
        for version in old:
            self._delete(self._seal_path(version))
        for path in dropped - needed:
            self._delete(path)

    def clean(self) -> int:
        """Before a job (re)starts: remove files that no retained seal names. Returns how many went."""
        self._references = {version: self._files_named_by(version) for version in self.sealed_versions()}
        root = f"{self.path}/penstock"
        needed = {f"{root}/staged/{file}" for version in self._references for file in self._staged_for(version)}
        needed |= set().union(*self._references.values())
        selector = fs.FileSelector(root, recursive=True, allow_not_found=True)
        orphans = [
            info.path
            for info in self.filesystem.get_file_info(selector)
            if _is_torn(info)
            or (
                info.type == fs.FileType.File
                and info.path.startswith((f"{root}/state/", f"{root}/staged/"))
                and info.path not in needed
            )
        ]
        for path in orphans:
            self._delete(path)
        return len(orphans)

    def is_done(self, version: int) -> bool:
        """Whether Spark's log says that a batch is done, so that all its output is published."""
        return bool(self.filesystem.get_file_info(f"{self.path}/spark/commits/{version}").type == fs.FileType.File)

    def source_log(self, number: int) -> str:
        """Where the source of Spark's of a number keeps a log of its own, as that of files does."""
        return f"{self.path}/spark/sources/{number}"

    def sealed_versions(self) -> list[int]:
        """The versions that have a seal, oldest first."""
        selector = fs.FileSelector(f"{self.path}/penstock/seals", allow_not_found=True)
        infos = self.filesystem.get_file_info(selector)
        return sorted(int(info.base_name[:-5]) for info in infos if info.base_name.endswith(".seal"))

    def seal_files(self) -> dict[int, tuple[int, int]]:
        """The versions that have a seal, each with time (ns) and size of the file: one that is made anew has others."""
        selector = fs.FileSelector(f"{self.path}/penstock/seals", allow_not_found=True)
        try:
            infos = self.filesystem.get_file_info(selector)
        except OSError as error:
            raise CheckpointError(f"checkpoint directory {self.uri} cannot be read: {error}") from None
        return {
            int(info.base_name[:-5]): (info.mtime_ns or 0, info.size or 0)
            for info in infos
            if info.base_name.endswith(".seal") and info.base_name[:-5].isdigit()
        }

    def last_seal(self) -> Seal | None:
        """The seal of the last version that is final; None if there is none."""
        versions = self.sealed_versions()
        return self.read_seal(versions[-1]) if versions else None

    def sealed_ms(self, version: int) -> int | None:
        """When a version became final; None if it is no longer there, or the file system does not tell."""
        changed = self.filesystem.get_file_info(self._seal_path(version)).mtime_ns
        return None if changed is None else changed // 1_000_000

    def _files_named_by(self, version: int) -> set[str]:
        try:
            return set(self._files_of(self.read_seal(version) or Seal()))
        except CheckpointError as error:
            # Older than the newest, which was checked: nobody goes on from it, and it goes in its turn.
            _log.warning("checkpoint %s: %s; version %d cannot be restored", self.uri, error, version)
            return set()

    def _staged_for(self, version: int) -> set[str]:
        """The stages of a version that may still have to be published."""
        try:
            seal = self.read_seal(version) or Seal()
        except CheckpointError:
            return set()  # an older one, see above: those are published
        return staged_file_names([item for items in seal.committables.values() for item in items])

    def _read(self, path: str) -> bytes | None:
        try:
            with self.filesystem.open_input_file(path) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def _write(self, path: str, data: bytes) -> None:
        self.filesystem.create_dir(os.path.dirname(path), recursive=True)
        draft = f"{path}.{uuid.uuid4().hex}.tmp"
        self._write_draft(draft, data, is_synced=False)
        self.filesystem.move(draft, path)

    def _is_created(self, path: str, data: bytes, *, is_synced: bool = False) -> bool:
        """Make a file that must be new; returns False if there is one of that name, whoever made it."""
        self.filesystem.create_dir(os.path.dirname(path), recursive=True)
        place = self._drafts_of(self._owner) if self._owner else os.path.dirname(path)
        draft = f"{place}/{os.path.basename(path)}.{uuid.uuid4().hex}.tmp"
        is_synced &= isinstance(self.filesystem, fs.LocalFileSystem)  # other stores keep what they have taken
        try:
            self._write_draft(draft, data, is_synced=is_synced)
            create_exclusively(self.filesystem, draft, path)
        except FileExistsError:
            self._delete(draft)
            return False
        except FileNotFoundError:
            raise self.taken_over() from None
        if is_synced:
            _sync(os.path.dirname(path))
        return True

    def _write_draft(self, draft: str, data: bytes, *, is_synced: bool) -> None:
        try:
            with told_if_full(draft):
                with self.filesystem.open_output_stream(draft) as stream:
                    stream.write(data)
                if is_synced:
                    _sync(draft)
        except StorageFullError:
            with suppress(OSError):
                self._delete(draft)
            raise

    def _delete(self, path: str) -> None:
        try:
            self.filesystem.delete_file(path)
        except FileNotFoundError:
            return


def absolute_uri(uri: str) -> str:
    """A URI or plain path as every process understands it: tasks have a working directory of their own."""
    return uri if _has_scheme(uri) else resolve(uri)[1]


def resolve(uri: str) -> tuple[fs.FileSystem, str]:
    """File system and path of a URI or plain path."""
    try:
        if _has_scheme(uri):
            filesystem, path = fs.FileSystem.from_uri(uri)
            return filesystem, path.rstrip("/")
        return fs.LocalFileSystem(), os.path.abspath(uri)
    except (OSError, ValueError, TypeError) as error:
        raise CheckpointError(f"checkpoint directory {uri!r} cannot be reached: {error}") from None


def _sync(path: str) -> None:
    """Have the operating system write a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _damage_text(uri: str, version: int, damage: list[str], whole: list[int], *, is_published: bool) -> str:
    more = f" (and {len(damage) - 1} more)" if len(damage) > 1 else ""
    more += "; its output may already be published, so its batch is not repeated" if is_published else ""
    ways = ["restore the files from a copy"]
    if whole:
        known = ", ".join(map(str, whole))
        ways.append(f"go back to an intact version ({known}), see docs/state.md; later output is written again")
    ways.append("start from scratch in an empty directory")
    return f"checkpoint {uri}: version {version} is damaged: {damage[0]}{more}. What to do: {'; or '.join(ways)}"


def _is_torn(info: fs.FileInfo) -> bool:
    """Whether this is what a killed process left of a file it was writing."""
    return bool(info.type == fs.FileType.File and info.base_name.endswith(".tmp"))


def _has_scheme(uri: str) -> bool:
    return "://" in uri or uri.startswith("file:")


def _checksum(body: Mapping[str, Any]) -> int:
    """Return the checksum of a job file's content, but for the checksum itself."""
    content = {key: each for key, each in body.items() if key != "checksum"}
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    old = {vertex["uid"]: vertex for vertex in found.get("vertices", [])}
    new = {vertex["uid"]: vertex for vertex in wanted["vertices"]}
    for uid in new.keys() - old.keys():
        return f"it has no operator {new[uid]['name']!r} (uid {uid!r})"
    for uid in old.keys() - new.keys():
        return f"it has the operator {old[uid]['name']!r} (uid {uid!r}), which this job lacks"
    for uid, vertex in new.items():
        for aspect in ("parallelism", "max_parallelism", "operators", "name"):
            if vertex[aspect] != old[uid].get(aspect):
                return f"{aspect} of operator {vertex['name']!r} was {old[uid].get(aspect)}, now {vertex[aspect]}"
    return "its operators are in a different order"
