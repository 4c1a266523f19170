"""The checkpoint directory: whose it is, who may write, what is kept and what goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import fs

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.engine.spark.log_repair import SparkLogs
from penstock.engine.spark.spark_logs import log_location
from penstock.errors import CheckpointError
from penstock.runtime.report import SubtaskEntry
from penstock.state.versions import EMPTY, StateVersion, SubtaskState


def plan(**changes: Any) -> dict[str, Any]:
    vertex = {"uid": "u", "name": "n", "parallelism": 2, "max_parallelism": 128, "operators": []}
    return {"vertices": [{**vertex, **changes}]}


def adopted(path: Path, **settings: Any) -> CheckpointDirectory:
    directory = CheckpointDirectory(str(path), **settings)
    directory.adopt("job", plan())
    directory.take_over(SparkLogs())
    return directory


# Whose it is


def test_a_new_directory_is_adopted_once_and_keeps_its_job_id(tmp_path: Path) -> None:
    first = CheckpointDirectory(str(tmp_path / "new" / "deep")).adopt("job", plan())
    again = CheckpointDirectory(str(tmp_path / "new" / "deep")).adopt("renamed", plan())
    other = CheckpointDirectory(str(tmp_path / "other")).adopt("job", plan())
    assert first == again != other


def test_a_directory_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CheckpointError, match=r"not empty and contains no Penstock job.*'thesis.txt'"):
        CheckpointDirectory(str(tmp_path)).adopt("job", plan())
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError):
        CheckpointDirectory(str(tmp_path / "file")).adopt("job", plan())


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"uid": "other"}, "it has no operator 'n' \\(uid 'other'\\)"),
        ({"parallelism": 3}, "parallelism of operator 'n' was 2, now 3"),
        ({"max_parallelism": 64}, "max_parallelism of operator 'n' was 128, now 64"),
        ({"operators": [{"uid": "u", "kind": "k"}]}, "operators of operator 'n'"),
        ({"name": "m"}, "name of operator 'm'"),
    ],
)
def test_the_checkpoint_of_another_job_is_refused_with_the_difference(
    tmp_path: Path, changes: dict[str, Any], text: str
) -> None:
    CheckpointDirectory(str(tmp_path)).adopt("job", plan())
    with pytest.raises(CheckpointError, match=f"belongs to another job.*{text}"):
        CheckpointDirectory(str(tmp_path)).adopt("mine", plan(**changes))


def test_an_operator_that_is_gone_is_named(tmp_path: Path) -> None:
    CheckpointDirectory(str(tmp_path)).adopt("job", plan())
    with pytest.raises(CheckpointError, match=r"it has the operator 'n'.*which this job lacks"):
        CheckpointDirectory(str(tmp_path)).adopt("job", {"vertices": []})


def job_file(tmp_path: Path) -> Path:
    CheckpointDirectory(str(tmp_path)).adopt("job", plan())
    return tmp_path / "penstock" / "job.json"


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = job_file(tmp_path)
    written = {**json.loads(path.read_text()), "format": 99}
    del written["checksum"]
    path.write_text(json.dumps(written))
    with pytest.raises(
        CheckpointError, match="has format 99, and this version of Penstock reads format 2: start the job"
    ):
        CheckpointDirectory(str(tmp_path)).adopt("job", plan())


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', "\x00\x01", "7"])
def test_a_damaged_job_file_is_refused(tmp_path: Path, text: str) -> None:
    job_file(tmp_path).write_text(text)
    with pytest.raises(CheckpointError, match=r"job\.json is not a Penstock job file"):
        CheckpointDirectory(str(tmp_path)).adopt("job", plan())


@pytest.mark.parametrize("uri", ["nosuchscheme://x/y", "file://relative"])
def test_an_unknown_file_system_is_refused(uri: str) -> None:
    with pytest.raises(CheckpointError, match="cannot be reached"):
        CheckpointDirectory(uri)


@pytest.mark.parametrize("form", ["{}", "file://{}", "file:{}", "{}/"])
def test_paths_and_uris_mean_the_same_place(tmp_path: Path, form: str) -> None:
    directory = CheckpointDirectory(form.format(tmp_path / "place"))
    directory.adopt("job", plan())
    assert (tmp_path / "place" / "penstock" / "job.json").exists()
    assert log_location(directory).endswith("/place/spark")


def test_uids_with_separators_stay_inside_the_directory(tmp_path: Path) -> None:
    directory = CheckpointDirectory(str(tmp_path))
    paths = {directory.state_path(uid, 0) for uid in ("../../etc", "a/b", "a%2Fb", "a", "ü ä")}
    assert len(paths) == 5
    parents = {Path(path).parent.parent for path in paths}
    assert parents == {tmp_path / "penstock" / "state"}


# Who may write


def test_a_second_starter_locks_the_first_one_out(tmp_path: Path) -> None:
    first = adopted(tmp_path)
    first.write_seal(Seal(0))
    spark_log(tmp_path, "offsets", 0)
    second = adopted(tmp_path)
    with pytest.raises(CheckpointError, match="taken over by another process"):
        first.write_seal(Seal(1))
    second.write_seal(Seal(1))
    assert second.sealed_versions() == [0, 1]


def test_a_reader_need_not_take_over(tmp_path: Path) -> None:
    adopted(tmp_path).write_seal(Seal(0, {("u", 0): SubtaskEntry(watermark=5)}))
    reader = CheckpointDirectory(str(tmp_path))
    seal = reader.read_seal(0)
    assert seal is not None and seal.entry("u", 0).watermark == 5
    assert reader.read_seal(1) is None
    assert reader.read_seal(-1) == Seal()


# Do the logs agree


def spark_log(path: Path, name: str, *numbers: int) -> None:
    folder = path / "spark" / name
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        (folder / str(number)).write_text("v1\n{}\n{}")
        (folder / f".{number}.crc").write_text("")


@pytest.mark.parametrize(
    ("sealed", "offsets", "commits", "problem"),
    [
        ([], [], [], None),
        ([0], [0], [], None),
        ([0], [0], [0], None),
        ([0], [0, 1], [0], None),
        ([], [0], [], None),
        ([0, 1], [0], [0], "Spark's log of positions ends at 0"),
        ([0], [], [], "Spark's log of positions ends at nothing"),
        ([0], [0, 1], [0, 1], "no state for batch 1"),
        ([], [0], [0], "no state for batch 0"),
    ],
)
def test_seals_and_sparks_logs_must_tell_the_same_story(
    tmp_path: Path, sealed: list[int], offsets: list[int], commits: list[int], problem: str | None
) -> None:
    directory = adopted(tmp_path)
    for version in sealed:
        directory.write_seal(Seal(version))
    spark_log(tmp_path, "offsets", *offsets)
    spark_log(tmp_path, "commits", *commits)
    if problem is None:
        CheckpointDirectory(str(tmp_path)).take_over(SparkLogs())
    else:
        with pytest.raises(CheckpointError, match=problem):
            CheckpointDirectory(str(tmp_path)).take_over(SparkLogs())


# What is kept


class History:
    """A job's batches as its checkpoint directory sees them; `states` is what each subtask's state must hold."""

    def __init__(self, path: Path, retained: int) -> None:
        self.path = path
        self.retained = retained
        self.directory = adopted(path, retained=retained)
        self.seal = Seal()
        self.states: dict[int, dict[int, dict[bytes, bytes]]] = {-1: {}}

    def state(self, base: StateVersion, subtask: int) -> SubtaskState:
        folder = self.directory.state_path("u", subtask)
        return SubtaskState.open(fs.LocalFileSystem(), folder, base, local_path=None, snapshot_after=2)

    def batch(self, puts: dict[int, tuple[int, int]], *, fails: bool) -> None:
        version = self.seal.version + 1
        entries = dict(self.seal.entries)
        expected = {subtask: dict(rows) for subtask, rows in self.states[version - 1].items()}
        for subtask, (key, value) in puts.items():
            state = self.state(self.seal.entry("u", subtask).state, subtask)
            state.store.put(bytes([key]), bytes([value]))
            entries["u", subtask] = SubtaskEntry(state.commit())
            expected.setdefault(subtask, {})[bytes([key])] = bytes([value])
        if fails:
            return
        spark_log(self.path, "offsets", version)
        self.seal = Seal(version, entries)
        self.states[version] = expected
        self.directory.write_seal(self.seal)

    def restart(self) -> None:
        self.directory = adopted(self.path, retained=self.retained)

    def check(self) -> None:
        sealed = self.directory.sealed_versions()
        assert sealed == list(range(max(0, self.seal.version + 1 - self.retained), self.seal.version + 1))
        for version in sealed:
            seal = self.directory.read_seal(version)
            assert seal is not None
            for subtask, rows in self.states[version].items():
                with self.state(seal.entry("u", subtask).state, subtask) as state:
                    assert dict(state.store.scan(b"")) == rows

    def files(self) -> set[str]:
        return {str(path) for path in (self.path / "penstock" / "state").rglob("*") if path.is_file()}

    def needed(self) -> set[str]:
        return {
            f"{self.directory.state_path(uid, subtask)}/{file.name}"
            for version in self.directory.sealed_versions()
            for (uid, subtask), entry in (self.directory.read_seal(version) or Seal()).entries.items()
            for file in entry.state.files
        }


BATCHES = st.tuples(
    st.dictionaries(st.integers(0, 2), st.tuples(st.integers(0, 3), st.integers(0, 255)), max_size=3),
    st.sampled_from(["sealed", "sealed", "sealed", "fails", "restart"]),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(BATCHES, max_size=12), retained=st.integers(1, 3))
def test_cleaning_removes_nothing_that_a_retained_seal_needs_and_everything_else(
    tmp_path_factory: pytest.TempPathFactory, batches: list[tuple[dict[int, tuple[int, int]], str]], retained: int
) -> None:
    history = History(tmp_path_factory.mktemp("history"), retained)
    for puts, what in batches:
        history.batch(puts, fails=what != "sealed")
        if what == "restart":
            history.restart()
        history.check()
        assert history.needed() <= history.files()
    history.restart()
    history.check()
    assert history.files() == history.needed()


def test_leftovers_of_a_death_in_the_middle_of_writing_go_at_the_next_start(tmp_path: Path) -> None:
    history = History(tmp_path, 3)
    history.batch({0: (1, 1)}, fails=False)
    folder = Path(history.directory.state_path("u", 0))
    (folder / "abc.changes.123.tmp").write_bytes(b"half")
    assert CheckpointDirectory(str(tmp_path)).clean() == 1
    history.check()


def test_a_state_without_files_is_fine(tmp_path: Path) -> None:
    directory = adopted(tmp_path)
    directory.write_seal(Seal(0, {("u", 0): SubtaskEntry(EMPTY)}))
    assert directory.clean() == 0


def test_a_relative_directory_means_the_one_the_program_was_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    directory = CheckpointDirectory("checkpoint")
    assert directory.uri == str(tmp_path / "checkpoint")
    assert log_location(directory) == str(tmp_path / "checkpoint" / "spark")
