"""Bringing a replica's store up to the newest sealed version of a checkpoint directory. Nothing there is changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.errors import CheckpointError, PenstockError
from penstock.queryable.content import FORMAT, parsed_content
from penstock.queryable.store import ReplicaStore, UnorderedEntriesError, VersionWriter, part_prefix
from penstock.state.files import read_entries
from penstock.state.versions import StateVersion, files_after

SealMark = tuple[int, int, int]
"""A seal as it was found: version, time of its file (ns), size. A version that is made anew has another one."""


@dataclass(frozen=True)
class Progress:
    """How far a store is: the seal that it holds, and the newest that there is; None if there is none.

    `problem` says in one sentence why the newest is not the one that is held, if it should be.
    """

    held: SealMark | None = None
    newest: SealMark | None = None
    problem: str | None = None


class Follower:
    """Reads seals and state files into a store, version by version."""

    def __init__(self, directory: CheckpointDirectory, store: ReplicaStore) -> None:
        """Follow a checkpoint directory; nothing is read yet."""
        self.directory = directory
        self._store = store
        self.progress = Progress(held=_held_mark(store))
        self._refused: dict[SealMark, str] = {}

    def follow(self) -> bool:
        """Take in the newest version if it is not held yet; returns whether another one is held now.

        What cannot be read leaves the version that is held, with a `problem`; so does a directory that is out of reach.
        """
        try:
            marks = self._marks()
        except PenstockError as error:
            self.progress = Progress(self.progress.held, self.progress.newest, str(error))
            return False
        held, newest = self.progress.held, (marks[0] if marks else None)
        if newest is None or newest == held:
            missing = "the checkpoint directory has no sealed version any more" if held and newest is None else None
            self.progress = Progress(held, newest, missing)
            return False
        return self._follow_to(marks)

    def _follow_to(self, marks: list[SealMark]) -> bool:
        """Take in the first of some versions, newest first, that can be read."""
        held, problem = self.progress.held, None
        for mark in marks:
            if mark == held:
                break
            reason = self._refused.get(mark) or self._taken(mark)
            if reason is None:
                self.progress = Progress(mark, marks[0], problem)
                return True
            problem = problem or reason
        self.progress = Progress(held, marks[0], problem)
        return False

    def _marks(self) -> list[SealMark]:
        """The seals that there are, newest first."""
        found = self.directory.seal_files()
        return [(version, *found[version]) for version in sorted(found, reverse=True)]

    def _taken(self, mark: SealMark) -> str | None:
        """Read a version into the store; returns why not, if it cannot be read."""
        try:
            seal, job = self.directory.read_seal(mark[0]), self.directory.read_job()
            if seal is None or job is None:
                return f"version {mark[0]} was removed while it was read"
            with self._store.writing() as writer:
                self._write(writer, seal, job, mark)
        except PenstockError as error:
            if not self._is_there(mark):
                # Old versions go while a job runs. The next look finds a newer one.
                return f"version {mark[0]} was removed while it was read: the job goes on faster than it can be read"
            text = f"version {mark[0]} cannot be read: {error}"
            # Damage does not heal, and reading all of it again at every look would be in vain.
            self._refused = {mark: text} if isinstance(error, CheckpointError) else {}
            return text
        return None

    def forget_refusals(self) -> None:
        """Try again to read what could not be read: somebody may have put files back."""
        self._refused.clear()

    def _is_there(self, mark: SealMark) -> bool:
        try:
            return mark in self._marks()
        except PenstockError:
            return True

    def _write(self, writer: VersionWriter, seal: Seal, job: dict[str, Any], mark: SealMark) -> None:
        content = version_content(seal, job, mark, _held_vertices(writer))
        vertices, held = content["vertices"], writer.held()
        for (uid, subtask), entry in seal.entries.items():
            if uid in vertices:
                prefix = part_prefix(vertices[uid], subtask)
                self._bring_up(writer, prefix, held.pop(prefix, ""), entry.state, uid, subtask)
        for prefix in held:  # subtasks that are no more
            writer.clear(prefix)
            writer.hold(prefix, None)
        writer.finish(content)

    def _bring_up(
        self, writer: VersionWriter, prefix: bytes, held: str, state: StateVersion, uid: str, subtask: int
    ) -> None:
        if held == state.id:
            return
        folder = self.directory.state_path(uid, subtask)
        missing = files_after(held, state) if held else None
        if missing is None:
            missing = state.files
            if missing and missing[0].is_snapshot:
                self._replace(writer, prefix, f"{folder}/{missing[0].name}")
                missing = missing[1:]
            else:
                writer.clear(prefix)
        for file in missing:
            writer.change(prefix, read_entries(self.directory.filesystem, f"{folder}/{file.name}"))
        writer.hold(prefix, state.id or None)

    def _replace(self, writer: VersionWriter, prefix: bytes, path: str) -> None:
        try:
            writer.replace(prefix, read_entries(self.directory.filesystem, path))
        except UnorderedEntriesError:
            writer.clear(prefix)
            writer.change(prefix, read_entries(self.directory.filesystem, path))


def version_content(seal: Seal, job: dict[str, Any], mark: SealMark, held: dict[str, int]) -> dict[str, Any]:
    """What a store says of its version: all that is needed to answer without the checkpoint directory.

    `vertices` has the number of each vertex in the store: the one that it has, if it has one.
    """
    plan = job["plan"]["vertices"]
    numbers = {vertex["uid"]: held[vertex["uid"]] for vertex in plan if vertex["uid"] in held}
    free = (number for number in range(1 << 16) if number not in held.values())
    for vertex in plan:
        numbers.setdefault(vertex["uid"], -1)
        if numbers[vertex["uid"]] < 0:
            numbers[vertex["uid"]] = next(free)
    return {
        "format": FORMAT,
        "mark": list(mark),
        "version": seal.version,
        "sealed_ms": mark[1] // 1_000_000,
        "job_id": job["job_id"],
        "job_name": job["job_name"],
        "plan": plan,
        "vertices": numbers,
        "described": seal.described,
    }


def _held_vertices(writer: VersionWriter) -> dict[str, int]:
    content = parsed_content(writer.content())
    return {} if content is None else dict(content["vertices"])


def _held_mark(store: ReplicaStore) -> SealMark | None:
    with store.view() as view:
        content = parsed_content(view.content())
    if content is None:
        return None
    version, time_ns, size = content["mark"]
    return version, time_ns, size
