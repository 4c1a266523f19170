"""Sources read one after the other: the switch is exact, whatever is cut, killed or resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Duration
from penstock.connectors.generated.collection import CollectionSource
from penstock.connectors.generated.sequence import NumberSequence
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.connectors.file_system import FileSource
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.errors import ConfigurationError, GraphError
from penstock.testing import CollectSink, Element, ManualClock, ScriptedPartitions


def collected(source: Any, seed: int | None = None, parallelism: int = 1, **options: Any) -> list[Any]:
    env = StreamExecutionEnvironment.in_process(seed, **options).set_parallelism(parallelism)
    return list(env.from_source(source, None, "hybrid").execute_and_collect())


def history(folder: Path, files: int = 3, lines: int = 40) -> FileSource:
    folder.mkdir()
    for number in range(files):
        (folder / f"{number}").write_text("".join(f"old {number} {line}\n" for line in range(lines)))
    return FileSource.text(folder)


@pytest.mark.parametrize("seed", range(6))
def test_the_second_begins_when_the_first_has_ended(tmp_path: Path, seed: int) -> None:
    live = ScriptedPartitions({name: [Element(f"new {name} {n}", n) for n in range(9)] for name in "ab"})
    source = HybridSource.builder(history(tmp_path / "in")).add_source(live).build()
    found = collected(source, seed, parallelism=seed % 3 + 1, crash_rate=0.02)
    old, new = found[:120], found[120:]
    assert sorted(old) == sorted(f"old {number} {line}" for number in range(3) for line in range(40))
    assert sorted(new) == sorted(f"new {name} {n}" for name in "ab" for n in range(9))
    for name in "ab":
        assert [each for each in new if each.startswith(f"new {name}")] == [f"new {name} {n}" for n in range(9)]


def test_three_sources_and_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    source = (
        HybridSource.builder(NumberSequence(1, 3))
        .add_source(FileSource.text(tmp_path / "empty"))
        .add_source(CollectionSource(["a", "b"]))
        .add_source(DataGeneratorSource(lambda n: n * 10, 3))
        .build()
    )
    assert source.is_bounded()
    assert collected(source) == [1, 2, 3, "a", "b", 0, 10, 20]


def test_all_sources_empty_is_an_end_too(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    files = FileSource.text(tmp_path / "empty")
    assert collected(HybridSource.builder(files).add_source(files).build()) == []


def test_savepoints_and_an_unbounded_last_source(tmp_path: Path) -> None:
    files = history(tmp_path / "in", files=2, lines=30)
    later = tmp_path / "later"
    later.mkdir()
    watched = FileSource.text(later, monitor_interval=Duration.of_seconds(1))
    source = HybridSource.builder(files).add_source(watched).build()
    assert not source.is_bounded()

    def start(sink: CollectSink, savepoint: str | None = None) -> Any:
        settings = Configuration().set_string("penstock.batch.max-records", "7")
        if savepoint is not None:
            settings.set_string("execution.state-recovery.path", savepoint)
        env = StreamExecutionEnvironment.in_process(clock=ManualClock(), configuration=settings).set_parallelism(2)
        env.from_source(source, None, "hybrid").uid("hybrid").add_sink(sink)
        return env.execute_async()

    first = CollectSink()
    client = start(first)
    while len(first.results) < 25:
        client.run_batch()
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    (later / "x").write_text("new\n")
    second = CollectSink()
    client = start(second, savepoint)
    while "new" not in second.results:
        client.run_batch()
    client.stop()
    wanted = sorted(f"old {number} {line}" for number in range(2) for line in range(30))
    assert sorted(first.results + second.results) == sorted([*wanted, "new"])
    assert second.results[-1] == "new"


def test_mistakes_are_told(tmp_path: Path) -> None:
    endless = DataGeneratorSource(lambda n: n, None)
    with pytest.raises(ConfigurationError, match="source 1 of 2 never ends"):
        HybridSource.builder(endless).add_source(endless).build()
    with pytest.raises(ConfigurationError, match=r"expected a Source, got 5"):
        HybridSource.builder(5)  # type: ignore[arg-type]
    env = StreamExecutionEnvironment.in_process()
    from penstock.connectors.frame_source import FrameSource

    frame = FrameSource(lambda spark: spark, bounded=True)
    env.from_source(HybridSource.builder(frame).add_source(endless).build(), None, "mixed").print()
    with pytest.raises(GraphError, match="'Source: mixed' is read by Spark"):
        env.execute()
