"""Compaction of finished files: fewer files, each record once and in order, through failed tries and crashes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.serialization import Encoder
from penstock.connectors.files.rolling import RollingPolicy
from penstock.connectors.files.sink import STAGING
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import BucketAssigner, FileCompactor, FileCompactStrategy, FileSink
from penstock.datastream.formats.parquet import ParquetBulkWriters
from penstock.errors import ConfigurationError, SinkError
from tests.unit.connectors.file_sink_job import FileSinkJob, staged
from tests.unit.connectors.test_file_sink import FAILURES

CONCAT = FileCompactor.concat_file_compactor()
ROW = Types.ROW_NAMED(["n"], [Types.LONG()])


def after(checkpoints: int) -> FileCompactStrategy:
    return FileCompactStrategy.builder().enable_compaction_on_checkpoint(checkpoints).build()


def at_size(size: int) -> FileCompactStrategy:
    return FileCompactStrategy.builder().set_size_threshold(size).set_num_compact_threads(2).build()


def text_sink(base: Path, strategy: Any = None, compactor: FileCompactor = CONCAT, buckets: int = 1) -> FileSink:
    builder = FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
    builder = builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    builder = builder.with_bucket_assigner(BucketAssigner.by(lambda n: f"b={int(n) % buckets}"))
    return (builder.disable_compact() if strategy is None else builder.enable_compact(strategy, compactor)).build()


def shown(base: Path, subtask: int | None = None) -> list[Path]:
    """Published files of a subtask in the order of version and number."""

    def numbers(path: Path) -> list[int]:
        return [int(part) for part in path.name.removeprefix("compacted-").split(".")[0].split("-")[2:]]

    files = [path for path in base.rglob("*") if path.is_file() and STAGING not in path.parts]
    return sorted((p for p in files if subtask is None or numbers(p)[0] == subtask), key=lambda p: numbers(p)[1:])


def lines(base: Path, subtask: int | None = None) -> list[str]:
    return [line for path in shown(base, subtask) for line in path.read_text().splitlines()]


def test_files_show_after_so_many_checkpoints_as_one(tmp_path: Path) -> None:
    base = tmp_path / "out"
    job = FileSinkJob(text_sink(base, after(3)), parallelism=1)
    counts = []
    for number in range(7):
        job.batch([[[str(number)]]])
        counts.append([path.read_text() for path in shown(base)])
    assert [len(files) for files in counts] == [0, 0, 1, 1, 1, 2, 2]
    assert counts[-1] == ["0\n1\n2\n", "3\n4\n5\n"]
    assert all(path.name.startswith("compacted-part-") for path in shown(base))
    job.batch([[[]]], end=True)
    assert lines(base) == list("0123456") and not (base / STAGING).exists()


def test_checkpoints_without_records_count_and_are_asked_for(tmp_path: Path) -> None:
    job = FileSinkJob(text_sink(tmp_path / "out", after(2)), parallelism=1)
    job.batch([[["1"]]])
    assert job.deadlines == [job.now_ms + 1_000]
    job.batch([[[]]])
    assert lines(tmp_path / "out") == ["1"] and job.deadlines == [None]


def test_files_show_at_a_size(tmp_path: Path) -> None:
    job = FileSinkJob(text_sink(tmp_path / "out", at_size(6)), parallelism=1)
    for number in range(5):
        job.batch([[[str(number)]]])
    assert [path.read_text() for path in shown(tmp_path / "out")] == ["0\n1\n2\n"]
    assert job.deadlines == [None]  # only records make it larger


def test_buckets_wait_for_themselves(tmp_path: Path) -> None:
    job = FileSinkJob(text_sink(tmp_path / "out", after(2), buckets=2), parallelism=1)
    job.batch([[["0"]]])
    job.batch([[["1"]]])
    assert [path.parent.name for path in shown(tmp_path / "out")] == ["b=0"]
    job.batch([[["2"]]])
    assert [path.parent.name for path in shown(tmp_path / "out")] == ["b=0", "b=1"]


def test_identical_files_wait_and_stay_as_they_are(tmp_path: Path) -> None:
    job = FileSinkJob(text_sink(tmp_path / "out", after(2), FileCompactor.identical_file_compactor()), parallelism=1)
    job.batch([[["1"]]])
    job.batch([[["2"]]])
    assert [path.read_text() for path in shown(tmp_path / "out")] == ["1\n", "2\n"]


def test_a_delimiter_goes_between_files(tmp_path: Path) -> None:
    job = FileSinkJob(text_sink(tmp_path / "out", after(3), FileCompactor.concat_file_compactor(b"--\n")), 1)
    for number in range(3):
        job.batch([[[str(number)]]])
    assert [path.read_text() for path in shown(tmp_path / "out")] == ["0\n--\n1\n--\n2\n"]


def test_parquet_is_compacted_to_one_file_that_can_be_read(tmp_path: Path) -> None:
    builder = FileSink.for_bulk_format(str(tmp_path / "out"), ParquetBulkWriters.for_row_type(ROW))
    builder = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    job = FileSinkJob(builder.enable_compact(after(3), CONCAT).build(), parallelism=1)
    for number in range(3):
        job.batch([[[(number,)]]])
    (file,) = shown(tmp_path / "out")
    assert pq.read_table(file).to_pylist() == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_without_compaction_what_waited_shows_at_once(tmp_path: Path) -> None:
    base = tmp_path / "out"
    job = FileSinkJob(text_sink(base, after(100)), parallelism=1)
    job.batch([[["1"]]])
    job.batch([[["2"]]])
    job.sink = text_sink(base)
    job.batch([[["3"]]], fresh_process=True)
    assert lines(base) == ["1", "2", "3"] and staged(base) == []


def test_files_that_wait_are_copied_to_a_savepoint(tmp_path: Path) -> None:
    base = tmp_path / "out"
    job = FileSinkJob(text_sink(base, after(100)), parallelism=1)
    job.batch([[["1"]]])
    job.batch([[["2"]]])
    files = job.sink.unfinished_files("orders", job.loaded(0))
    other = FileSinkJob(text_sink(tmp_path / "other"), parallelism=1)
    copies = [other.sink.publication(other.contexts[0], at, file) for at, file in enumerate(files)]
    other.sink.create_committer().commit_again(copies)
    found = [path for path in (tmp_path / "other").rglob("part-*") if path.is_file()]
    assert sorted(path.read_text() for path in found) == ["1\n", "2\n"]
    assert job.sink.restored_states([job.loaded(0)], 1)[0].waiting == ()


def test_a_damaged_file_that_waits_is_refused(tmp_path: Path) -> None:
    base = tmp_path / "out"
    job = FileSinkJob(text_sink(base, after(2)), parallelism=1)
    job.batch([[["1"]]])
    (chunk,) = staged(base)
    chunk.write_bytes(b"")
    with pytest.raises(SinkError, match="has 0 bytes instead of 2"):
        job.attempt([[["2"]]])
    assert shown(base) == []


strategies = st.builds(after, st.integers(1, 4)) | st.builds(at_size, st.integers(1, 12))
batches = st.lists(
    st.fixed_dictionaries(
        {
            "counts": st.tuples(st.integers(0, 3), st.integers(0, 3)),
            "failures": st.lists(st.sampled_from(FAILURES), max_size=2).map(tuple),
            "commits": st.lists(st.floats(0, 1), max_size=2).map(lambda shares: (*shares, 1.0)),
            "fresh_process": st.booleans(),
        }
    ),
    max_size=8,
)


@settings(max_examples=40, deadline=None)
@given(plan=batches, strategy=strategies, compactor=st.sampled_from([CONCAT, FileCompactor.identical_file_compactor()]))
def test_every_record_shows_once_and_in_order(plan: list[Any], strategy: Any, compactor: FileCompactor) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "out"
        job = FileSinkJob(text_sink(base, strategy, compactor))
        number = 0
        for batch in plan:
            blocks: list[list[list[str]]] = []
            for count in batch.pop("counts"):
                blocks.append([[str(number + at) for at in range(count)]])
                number += count
            job.batch(blocks, **batch)
            for subtask in (0, 1):
                assert lines(base, subtask) == job.written[subtask][: len(lines(base, subtask))]
        job.batch([[[]], [[]]], end=True)
        for subtask in (0, 1):
            assert lines(base, subtask) == job.written[subtask]
        assert not (base / STAGING).exists()


@pytest.mark.parametrize("seed", range(8))
def test_a_job_that_crashes_again_and_again_compacts_exactly_once(tmp_path: Path, seed: int) -> None:
    environment = StreamExecutionEnvironment.in_process(seed, crash_rate=0.1)
    environment.set_parallelism(2)
    numbers = environment.from_collection([str(number) for number in range(200)])
    numbers.rebalance().sink_to(text_sink(tmp_path / "out", after(3)))
    client: Any = environment.execute_async()
    client.wait()
    assert sorted(map(int, lines(tmp_path / "out"))) == list(range(200))
    assert client.job.crashes > 0 or seed


def rows() -> Any:
    return FileSink.for_row_format("x", Encoder.simple_string_encoder())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FileCompactStrategy.builder().build(), "needs enable_compaction_on_checkpoint"),
        (lambda: after(0), "above 0"),
        (lambda: at_size(-1), "above 0"),
        (lambda: FileCompactStrategy.builder().set_num_compact_threads(0), "above 0"),
        (lambda: FileCompactor.concat_file_compactor("x"), "bytes"),  # type: ignore[arg-type]
        (lambda: rows().enable_compact(1, CONCAT), "Strategy"),
        (lambda: rows().enable_compact(after(1), 1), "Compactor"),
        (lambda: FileSink.for_bulk_format("x", ParquetBulkWriters.for_row_type(ROW)).enable_compact(
            after(1), FileCompactor.concat_file_compactor(b"x")), "delimiter"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make()
