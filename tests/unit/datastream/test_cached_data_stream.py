"""cache(): what is computed once and read later, when it is not kept, and what is refused."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.connectors.cached_records import CachedFile, CachedSource, CacheSink, whole_cache
from penstock.connectors.generated.collection import CollectionSource
from penstock.connectors.generated.sequence import NumberSequence
from penstock.connectors.sink import SinkContext
from penstock.datastream import DataStream, OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.data_stream import CachedDataStream
from penstock.errors import GraphError, JobFailedError, SinkError, SourceError


class Noted:
    """A map function that leaves a line for each record in a file, and fails where it is told to."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __call__(self, value: Any) -> Any:
        with open(self.path, "a") as notes:
            notes.write(f"{value}\n")
        if value == "bad" and not Path(f"{self.path}.mended").exists():
            raise ValueError("bad")
        return value

    def count(self) -> int:
        return len(Path(self.path).read_text().splitlines())


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def noted(tmp_path: Path) -> Noted:
    return Noted(tmp_path / "notes")


def environment_of(parallelism: int = 2, **options: Any) -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.in_process(**options)
    environment.set_parallelism(parallelism)
    return environment


def collected(stream: DataStream) -> list[Any]:
    return sorted(stream.execute_and_collect())


def folders(scratch: Path) -> list[Path]:
    return list(scratch.glob("penstock-scratch-cache-*"))


def test_a_later_job_reads_what_the_first_one_computed(noted: Noted, scratch: Path) -> None:
    environment = environment_of()
    cached = environment.from_collection([3, 1, 2]).map(noted).cache()
    assert isinstance(cached, CachedDataStream)
    assert not folders(scratch)
    assert collected(cached) == [1, 2, 3]
    assert collected(cached.map(lambda value: value * 10)) == [10, 20, 30]
    assert collected(cached.key_by(lambda value: value % 2).reduce(lambda a, b: a + b)) == [2, 3, 4]
    assert noted.count() == 3
    (folder,) = folders(scratch)
    assert folder.stat().st_mode & 0o077 == 0


def test_several_streams_of_one_job_share_it_and_so_do_streams_derived_from_them(noted: Noted) -> None:
    environment = environment_of()
    cached = environment.from_collection([1, 2, 3]).map(noted).cache()
    both = cached.map(lambda value: -value).union(cached.filter(lambda value: value > 1))
    assert collected(both) == [-3, -2, -1, 2, 3]
    again = both.map(lambda value: value * 2).cache()
    assert collected(again) == [-6, -4, -2, 4, 6]
    assert collected(again.union(cached)) == [-6, -4, -2, 1, 2, 3, 4, 6]
    assert noted.count() == 3


def test_invalidate_makes_the_next_job_compute_it_again(noted: Noted, scratch: Path) -> None:
    environment = environment_of()
    cached = environment.from_collection([1, 2]).map(noted).cache()
    cached.invalidate()
    for expected in (2, 2):
        assert collected(cached) == [1, 2]
        assert noted.count() == expected
    cached.invalidate()
    assert not folders(scratch)
    for expected in (4, 4):
        assert collected(cached) == [1, 2]
        assert noted.count() == expected


def test_a_job_that_fails_keeps_nothing(noted: Noted, scratch: Path) -> None:
    environment = environment_of(1)
    cached = environment.from_collection(["good", "bad"]).map(noted).cache()
    with pytest.raises(JobFailedError):
        collected(cached)
    Path(f"{noted.path}.mended").touch()
    before = noted.count()
    for _ in range(2):
        assert collected(cached) == ["bad", "good"]
    assert noted.count() == before + 2
    assert len(folders(scratch)) == 1


def test_neither_does_a_job_that_fails_after_the_end_of_the_cached_stream(noted: Noted) -> None:
    environment = environment_of(1, configuration=Configuration.from_dict({"penstock.batch.max-records": 10}))
    cached = environment.from_collection([1, 2]).map(noted).cache()
    numbers = environment.from_source(NumberSequence(1, 100), WatermarkStrategy.no_watermarks(), "numbers")
    with pytest.raises(JobFailedError):
        collected(cached.union(numbers.map(lambda number: number // (number - 90))))
    assert noted.count() == 2
    assert collected(cached) == [1, 2]
    assert noted.count() == 4


def _cancelled(client: Any) -> None:
    client.run_batch()
    client.cancel().result()


def _drained(client: Any) -> None:
    client.run_batch()
    client.stop(drain=True).result()


def _saved(client: Any) -> None:
    client.run_batch()
    client.stop_with_savepoint(False, tempfile.mkdtemp()).result()


@pytest.mark.parametrize("end", [_cancelled, _drained, _saved])
def test_a_job_that_did_not_read_everything_keeps_nothing(end: Callable[[Any], None]) -> None:
    environment = environment_of(configuration=Configuration.from_dict({"penstock.batch.max-records": 10}))
    cached = environment.from_source(NumberSequence(1, 100), WatermarkStrategy.no_watermarks(), "numbers").cache()
    cached.print()
    end(environment.execute_async())
    assert collected(cached) == list(range(1, 101))


def test_a_job_that_is_run_in_pieces_and_crashes_keeps_each_record_once(noted: Noted) -> None:
    options: dict[str, Any] = {"seed": 7, "crash_rate": 0.2}
    environment = environment_of(3, **options)
    numbers = environment.from_source(NumberSequence(1, 500), WatermarkStrategy.no_watermarks(), "numbers")
    cached = numbers.map(noted).key_by(lambda value: value % 7).reduce(lambda a, b: b).cache()
    assert collected(cached) == list(range(1, 501))
    computed = noted.count()
    assert collected(cached) == list(range(1, 501))
    environment.set_parallelism(2)
    assert collected(cached) == list(range(1, 501))
    assert noted.count() == computed


def test_a_job_that_goes_on_from_a_savepoint_keeps_nothing(tmp_path: Path, noted: Noted) -> None:
    def program(is_cached: bool, **more: str) -> tuple[StreamExecutionEnvironment, DataStream]:
        settings = {"penstock.batch.max-records": 10, **more}
        environment = environment_of(1, configuration=Configuration.from_dict(settings))
        source = environment.from_source(NumberSequence(1, 50), WatermarkStrategy.no_watermarks(), "numbers")
        stream = source.uid("numbers").map(noted).uid("noted")
        stream = stream.cache() if is_cached else stream
        stream.print().uid("print")
        return environment, stream

    client: Any = program(False)[0].execute_async()
    client.run_batch()
    path = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    environment, cached = program(True, **{"execution.state-recovery.path": path})
    environment.execute()
    assert noted.count() == 50
    cached.print()
    assert "Source: Cached" not in environment.explain()


def test_order_timestamps_and_types_are_kept() -> None:
    class Stamp(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield value, ctx.timestamp()

    environment = environment_of(4)
    source = CollectionSource([Row(n=3), Row(n=1)], [30, 10])
    declared = Types.ROW_NAMED(["n"], [Types.INT()])
    plain = environment.from_source(source, WatermarkStrategy.no_watermarks(), "rows", declared)
    cached = plain.cache()
    assert cached.get_type() == plain.get_type()
    for _ in range(2):
        assert list(cached.process(Stamp()).set_parallelism(1).execute_and_collect()) == [
            (Row(n=3), 30),
            (Row(n=1), 10),
        ]


def test_a_side_output_can_be_cached_and_so_can_values_of_local_classes(noted: Noted) -> None:
    class Local:
        def __init__(self, number: int) -> None:
            self.number = number

    tag = OutputTag("odd")

    class Split(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            noted(value)
            yield (tag, Local(value)) if value % 2 else Local(value)

    environment = environment_of()
    cached = environment.from_collection([1, 2, 3]).process(Split()).get_side_output(tag).cache()
    for _ in range(2):
        assert collected(cached.map(lambda value: value.number)) == [1, 3]
    assert noted.count() == 3


def test_a_stream_without_records_is_kept_too(noted: Noted) -> None:
    environment = environment_of()
    cached = environment.from_collection([1, 2]).map(noted).filter(lambda value: False).cache()
    assert collected(cached) == []
    assert collected(cached) == []
    assert noted.count() == 2


def test_a_job_may_do_nothing_but_fill_the_cache(noted: Noted) -> None:
    environment = environment_of()
    cached = environment.from_collection([1, 2]).map(noted).cache()
    assert "Cache" in environment.explain()
    environment.execute()
    assert collected(cached) == [1, 2]
    assert noted.count() == 2
    cached.print()
    assert "Source: Cached" in environment.explain()
    assert "Collection" not in environment.explain()


def test_a_running_job_is_not_waited_for(noted: Noted) -> None:
    environment = environment_of()
    cached = environment.from_collection([1, 2]).map(noted).cache()
    cached.print()
    client = environment.execute_async()
    assert collected(cached) == [1, 2]
    client.wait()
    assert noted.count() == 4
    assert collected(cached) == [1, 2]
    assert noted.count() == 4


def test_a_job_that_runs_by_itself_keeps_it_too(noted: Noted) -> None:
    environment = StreamExecutionEnvironment(Configuration.from_dict({"penstock.engine": "in-process"}))
    cached = environment.from_collection([1, 2]).map(noted).cache()
    for _ in range(2):
        assert collected(cached) == [1, 2]
    assert noted.count() == 2


def test_the_records_go_with_the_environment(noted: Noted, scratch: Path) -> None:
    environment = environment_of()
    cached = environment.from_collection([1, 2]).map(noted).cache()
    assert collected(cached) == [1, 2]
    environment.close()
    assert not folders(scratch)

    environment = environment_of()
    assert collected(environment.from_collection([1, 2]).cache()) == [1, 2]
    assert folders(scratch)
    del environment, cached
    gc.collect()
    assert not folders(scratch)


def test_a_job_whose_environment_is_gone_has_its_folder(scratch: Path) -> None:
    environment = environment_of()
    environment.from_collection([1, 2]).cache().print()
    client = environment.execute_async()
    del environment
    gc.collect()
    assert folders(scratch)
    client.wait()
    del client
    gc.collect()
    assert not folders(scratch)


def test_the_folder_is_beside_the_checkpoint_directory(tmp_path: Path, scratch: Path) -> None:
    environment = environment_of()
    environment.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path / "place" / "checkpoint"))
    cached = environment.from_collection([1, 2]).cache()
    assert collected(cached) == [1, 2]
    assert len(folders(tmp_path / "place")) == 1
    assert not folders(scratch)


def test_a_program_that_demands_uids_can_cache() -> None:
    environment = environment_of()
    environment.get_config().disable_auto_generated_uids()
    cached = environment.from_collection([1]).uid("source").cache()
    assert collected(cached) == [1]
    assert collected(cached) == [1]


def test_a_stream_without_an_end_is_refused_before_the_start(scratch: Path) -> None:
    environment = environment_of()
    source = DataGeneratorSource(lambda index: index, None)
    environment.from_source(source, WatermarkStrategy.no_watermarks(), "endless").map(str).cache().print()
    with pytest.raises(GraphError, match="'Source: endless' is unbounded"):
        environment.execute()
    with pytest.raises(GraphError, match="'Source: endless' is unbounded"):
        environment.explain()
    assert not folders(scratch)


def test_what_a_cached_stream_cannot_do_is_refused() -> None:
    stream = environment_of().from_collection([1])
    with pytest.raises(GraphError, match="before key_by"):
        stream.key_by(lambda value: value).cache()
    cached: Any = stream.cache()
    for call in (
        lambda: cached.set_parallelism(1),
        lambda: cached.set_max_parallelism(1),
        lambda: cached.force_non_parallel(),
        lambda: cached.name("a"),
        lambda: cached.get_name(),
        lambda: cached.uid("a"),
        lambda: cached.set_uid_hash("a" * 32),
        lambda: cached.set_buffer_timeout(1),
        lambda: cached.start_new_chain(),
        lambda: cached.disable_chaining(),
        lambda: cached.slot_sharing_group("a"),
        lambda: cached.get_side_output(OutputTag("a")),
    ):
        with pytest.raises(GraphError, match="cache"):
            call()


# ---- the files ----


def context(subtask: int, parallelism: int) -> SinkContext:
    return SinkContext("job", "uid", "name", subtask, parallelism, lambda: 0)


def written(location: str, values: list[Any], state: Any = None) -> list[Any]:
    writer = CacheSink(location).create_writer(context(0, 1))
    writer.begin(4, "a", state)
    writer.write(values, None, 0)
    return writer.prepare_commit(0, True)


def test_any_range_can_be_read(tmp_path: Path) -> None:
    values = list(range(12_000))
    committer = CacheSink(str(tmp_path)).create_committer()
    finished = written(str(tmp_path), values)
    committer.commit(finished)
    committer.commit_again(finished)
    files = whole_cache(str(tmp_path))
    assert files == (CachedFile(0, 4, 12_000),)
    source = CachedSource(str(tmp_path), files, True)
    for start, stop in ((0, 12_000), (0, 1), (4_999, 5_001), (11_999, 12_000), (7, 7)):
        chunks = [chunk for chunk, _ in source.read(0, 1, start, stop)]
        assert [value for chunk in chunks for value in chunk] == values[start:stop]


def test_what_another_process_began_is_not_a_whole_cache(tmp_path: Path) -> None:
    assert written(str(tmp_path), [1], state="/of/another") == []
    assert whole_cache(str(tmp_path)) is None


def test_files_that_are_gone_or_damaged_are_named(tmp_path: Path) -> None:
    committer = CacheSink(str(tmp_path)).create_committer()
    finished = written(str(tmp_path), [1, 2, 3])
    committer.commit(finished)
    files = whole_cache(str(tmp_path))
    assert files is not None
    source, file = CachedSource(str(tmp_path), files, True), tmp_path / files[0].name
    whole = file.read_bytes()
    for content, what in ((whole[:5], "is truncated"), (whole[:-1], "has changed")):
        file.write_bytes(content)
        with pytest.raises(SourceError, match=f"{files[0].name} of a cached stream {what}.*invalidate"):
            list(source.read(0, 1, 0, 3))
    file.unlink()
    with pytest.raises(SourceError, match="is gone"):
        list(source.read(0, 1, 0, 3))
    with pytest.raises(SinkError, match="every machine can reach"):
        committer.commit(finished)
