"""What checkpoints and savepoints hold of every operator and connector: no class or module of Penstock, anywhere."""

from __future__ import annotations

import inspect
import json
import pickle
import pickletools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import penstock.testing
from penstock.checkpoint.seal import decode_seal
from penstock.common import Configuration
from penstock.common.plain_data import UserPickle, pack
from penstock.connectors.cached_records import CachedSource
from penstock.connectors.files.committer import PublishFile
from penstock.connectors.files.source import FileSource
from penstock.connectors.frame_source import FrameSource
from penstock.connectors.hybrid_source import SplitAsPartition
from penstock.connectors.kafka import sink as kafka_sink
from penstock.connectors.kafka.partitions import KafkaPartitions
from penstock.connectors.kafka.publisher import KafkaPublisher
from penstock.connectors.sink import Sink
from penstock.connectors.socket_source import SocketSource
from penstock.connectors.source import Source
from penstock.connectors.stages import Stage
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.hybrid_source import HybridSource as BuiltHybridSource
from penstock.datastream.connectors.kafka_source import KafkaSource
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.runtime.operators import SinkOperator, SourceOperator, StreamOperator
from penstock.runtime.report import decode_inline
from penstock.state.files import read_entries
from penstock.testing import InProcessJobClient, ManualClock
from tests.unit.checkpoint.disk_cases import CASES as OPERATOR_CASES
from tests.unit.checkpoint.disk_cases import Bench
from tests.unit.checkpoint.disk_queries import QUERY_CASES
from tests.unit.checkpoint.disk_sinks import SINK_CASES
from tests.unit.checkpoint.disk_tables import TABLE_CASES

pytestmark = pytest.mark.filterwarnings("ignore:.*pickle")  # some state is pickled on purpose

CASES = [*OPERATOR_CASES, *SINK_CASES, *TABLE_CASES, *QUERY_CASES]
OURS = b"penstock."
RUN_ELSEWHERE: dict[type, str] = {
    KafkaPartitions: "needs a broker; it is a PartitionedSource, and those are in the cases of files",
    KafkaSource: "becomes KafkaPartitions",
    SocketSource: "needs a server; it is a PartitionedSource too",
    NumberSequenceSource: "a NumberSequence, which is in the cases",
    FileSource: "becomes OwnFileSource in process, which is in the cases",
    BuiltHybridSource: "becomes HybridSource, which is in the cases",
    SplitAsPartition: "a part of HybridSource",
    FrameSource: "read by Spark, which logs the offsets itself",
    CachedSource: "a SplitSource, read by the job after the one that wrote the cache",
}


# ---- what is in a file ----


def values_of(path: Path) -> Iterator[bytes]:
    """Every piece of a file that means something, without compression."""
    if path.suffix == ".seal":
        yield from values_of_seal(path)
    elif path.suffix in (".changes", ".snapshot"):
        for key, value in read_entries(fs.LocalFileSystem(), str(path)):
            yield from (key, value or b"")
    elif path.suffix == ".parquet" and "operators" in path.parts:
        for column in pq.read_table(path, partitioning=None).columns:
            yield from (each if isinstance(each, bytes) else str(each).encode() for each in column.to_pylist())
    else:
        yield path.read_bytes()


def values_of_seal(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield pa.decompress(data[20:], int.from_bytes(data[12:20], "big"), codec="zstd", asbytes=True)
    seal = decode_seal(data, str(path))
    for entry in seal.entries.values():
        yield entry.inline or b""
        decode_inline(entry.inline)
    for item in (item for items in seal.committables.values() for item in items):
        if isinstance(item, Stage):
            yield from map(pack, item.blocks())


def globals_in(data: bytes) -> set[str]:
    """What the pickles in some bytes name, wherever they begin."""
    found: set[str] = set()
    for protocol in (b"\x80\x04", b"\x80\x05"):
        start = data.find(protocol)
        while start >= 0:
            found |= named_by(data[start:])
            start = data.find(protocol, start + 1)
    return found


def named_by(data: bytes) -> set[str]:
    found: set[str] = set()
    texts: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "GLOBAL":
                found.add(argument.replace(" ", "."))
            elif opcode.name == "STACK_GLOBAL":
                found.add(".".join(texts[-2:]))
            elif "UNICODE" in opcode.name:
                texts.append(argument)
    except ValueError:
        return found  # no pickle, or what was one ends here
    return found


def problems_in(folder: Path) -> list[str]:
    """What names something of ours in the files of a folder."""
    problems = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            for value in values_of(path):
                named = [name for name in globals_in(value) if name.startswith("penstock")]
                if OURS in value or named:
                    at = value.find(OURS)
                    problems.append(f"{path.relative_to(folder)}: {named or value[max(0, at - 40) : at + 60]!r}")
    return problems


# ---- the jobs ----


class NoTopics:
    def __init__(self, *_: Any) -> None:
        pass

    def partitions(self, topic: str) -> list[int]:
        return [0]


@pytest.fixture
def without_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_sink, "KafkaTopics", NoTopics)
    monkeypatch.setattr(kafka_sink.KafkaSink, "validate", lambda self, name: None)
    monkeypatch.setattr(KafkaPublisher, "publish", lambda self, publication: list(publication.blocks()))


def started(folder: Path, case: Any, recovery: str | None = None) -> InProcessJobClient:
    configuration = Configuration().set_string("penstock.batch.max-records", "12")
    configuration.set_string("execution.checkpointing.dir", str(folder / ("again" if recovery else "checkpoint")))
    if recovery is not None:
        configuration.set_string("execution.state-recovery.path", recovery)
    environment = StreamExecutionEnvironment.in_process(clock=ManualClock(1_000), configuration=configuration)
    work = folder / ("work again" if recovery else "work")
    work.mkdir()
    stream = case(Bench(environment.set_parallelism(2), work))
    if stream is not None:
        stream.sink_to(penstock.connectors.discarding_sink.DiscardingSink())
    client = environment.execute_async("job")
    assert isinstance(client, InProcessJobClient)
    return client


SEEN: dict[str, tuple[set[str], set[type], set[type]]] = {}
"""Kinds of operators, sinks and sources that the cases had."""


def note_what_ran(case: Any, client: InProcessJobClient) -> None:
    operators = [each.operator for vertex in client.job.plan.vertices for each in vertex.operators]
    sinks = {base for op in operators if isinstance(op, SinkOperator) for base in type(op.sink).__mro__}
    sources = {base for op in operators if isinstance(op, SourceOperator) for base in type(op.source).__mro__}
    SEEN[case.__name__] = {op.kind for op in operators}, sinks, sources


@pytest.mark.usefixtures("without_broker")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_no_class_of_ours_is_on_disk(tmp_path: Path, case: Any) -> None:
    client = started(tmp_path, case)
    note_what_ran(case, client)
    for _ in range(3):
        client.run_batch()
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    assert problems_in(tmp_path / "checkpoint") == []
    assert problems_in(tmp_path / "savepoints") == []
    again = started(tmp_path, case, savepoint)
    again.wait()
    assert problems_in(tmp_path / "again") == []


# ---- that nothing is missing ----


def concrete(base: type) -> set[type]:
    """The classes of Penstock, without those for tests, that are made objects of."""
    found = set()
    for cls in base.__subclasses__():
        found |= concrete(cls)
        is_for_use = cls.__module__.startswith("penstock.") and not cls.__module__.startswith("penstock.testing")
        if is_for_use and not inspect.isabstract(cls) and not cls.__name__.startswith("_"):
            found.add(cls)
    return found


@pytest.fixture
def all_cases(tmp_path: Path, without_broker: None) -> None:
    """Know what all cases have, also those that run in other processes."""
    for case in CASES:
        if case.__name__ not in SEEN:
            folder = tmp_path / case.__name__
            folder.mkdir()
            client = started(folder, case)
            note_what_ran(case, client)
            client.cancel().result()


BASES = {"StreamOperator", "TimedOperator", "TimingOperator", "RollingOperator"}
BASES |= {"TableOperator", "KeyedTableOperator", "BundlingOperator", "UserFunctionHolder"}


WALKED_ELSEWHERE = {"kstreams topology"}
"""Operators that need more than a stream to be built: see tests/unit/kstreams/test_on_disk.py."""


@pytest.mark.usefixtures("all_cases")
def test_every_operator_has_a_word_for_the_disk_and_a_case() -> None:
    operators = {cls for cls in concrete(StreamOperator) if cls.__name__ not in BASES}
    kinds = [cls.__dict__.get("kind", "") for cls in operators]
    assert all(kinds) and len(set(kinds)) == len(kinds), "each operator has a word of its own: `kind`"
    on_driver = {cls.__dict__["kind"] for cls in operators if cls.runs_on_driver}
    found = set().union(*(kinds for kinds, _, _ in SEEN.values()))
    assert set(kinds) - on_driver - found - WALKED_ELSEWHERE == set(), "add a case to disk_cases.py"


@pytest.mark.usefixtures("all_cases")
def test_every_sink_and_source_has_a_case() -> None:
    sinks = set().union(*(sinks for _, sinks, _ in SEEN.values()))
    sources = set().union(*(sources for _, _, sources in SEEN.values()))
    elsewhere = {cls for cls in concrete(Source) if issubclass(cls, tuple(RUN_ELSEWHERE))}
    assert concrete(Sink) - sinks == set(), "add a case to disk_cases.py"
    assert concrete(Source) - sources - elsewhere == set(), "add a case to disk_cases.py"


def test_the_walk_finds_what_it_looks_for(tmp_path: Path) -> None:
    found = UserPickle(pickle.dumps(PublishFile("a", "b"), 5))
    assert any("PublishFile" in name for name in globals_in(pack({"x": found})))
    (tmp_path / "job.json").write_text(json.dumps({"kind": "penstock.runtime.operators.SinkOperator"}))
    assert problems_in(tmp_path) != []
