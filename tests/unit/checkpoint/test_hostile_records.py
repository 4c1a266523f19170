"""Records that are pickles with bad intentions: whoever can only write records never reaches an unpickler."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types
from penstock.common.plain_data import pack, unpack
from penstock.connectors.stages import StageWriter
from penstock.datastream import CheckpointedFunction, KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.state.serializers import serializer_for
from penstock.testing import InProcessJobClient, ManualClock

pytestmark = pytest.mark.filterwarnings("ignore:.*pickle")

EXPLODED: list[str] = []


def explode() -> str:
    EXPLODED.append("somebody unpickled a record")
    return "boom"


class Bomb:
    def __reduce__(self) -> Any:
        return explode, ()


BAD = [pickle.dumps(Bomb(), protocol) for protocol in (2, 4, 5)]
# As they would be within what Penstock writes: a frame of a user's pickle, bytes of typed state.
BAD += [b"\xc7" + bytes([len(BAD[0])]) + b"\x05" + BAD[0], b"\x81\x00\x00\x00\x00" + BAD[2], b"\x01" + BAD[1]]


@pytest.fixture(autouse=True)
def nothing_explodes() -> Iterator[None]:
    EXPLODED.clear()
    yield
    assert EXPLODED == []


def test_the_bombs_work() -> None:
    assert pickle.loads(BAD[0]) == "boom"
    EXPLODED.clear()


class Keeps(KeyedProcessFunction):
    """Keeps a record in state of every form, and reads it all again."""

    def open(self, runtime_context: Any) -> None:
        get = runtime_context
        self.values = [
            get.get_state(ValueStateDescriptor("loose")),
            get.get_state(ValueStateDescriptor("bytes", Types.PRIMITIVE_ARRAY(Types.BYTE()))),
            get.get_state(ValueStateDescriptor("part", Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]))),
        ]
        self.lists = [get.get_list_state(ListStateDescriptor("list")), get.get_list_state(ListStateDescriptor("any"))]
        self.maps = [
            get.get_map_state(MapStateDescriptor("loose map")),
            get.get_map_state(MapStateDescriptor("map", Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.STRING())),
        ]

    def process_element(self, value: bytes, ctx: Any) -> Iterator[Any]:
        told = [state.value() for state in self.values] + [list(state.get() or ()) for state in self.lists]
        told += [sorted(state.items()) for state in self.maps]
        assert "boom" not in str(told)
        for state, kept in zip(self.values, (value, value, (value,)), strict=True):
            state.update(kept)
        for each in self.lists:
            each.add(value)
        for each, kept in zip(self.maps, (value, value.decode("latin-1")), strict=True):
            each.put(value, kept)
        ctx.timer_service().register_event_time_timer(10**12)
        yield value


class Remembers(MapFunction, CheckpointedFunction):
    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_list_state(ListStateDescriptor("seen"))
        assert set(self.seen.get()) <= set(BAD)

    def snapshot_state(self, context: Any) -> None:
        """The list is state already."""

    def map(self, value: bytes) -> bytes:
        self.seen.add(value)
        return value


def started(folder: Path, recovery: str | None = None) -> InProcessJobClient:
    configuration = Configuration().set_string("penstock.batch.max-records", "4")
    if recovery is not None:
        configuration.set_string("execution.state-recovery.path", recovery)
    environment = StreamExecutionEnvironment.in_process(clock=ManualClock(0), configuration=configuration)
    records = environment.from_collection(BAD * 5).map(Remembers())
    kept = records.key_by(lambda value: value).process(Keeps())
    counted = kept.key_by(lambda value: (value, value.decode("latin-1"))).count_window(3).reduce(lambda a, b: b)
    counted.map(repr).sink_to(FileSink.text(folder / "out"))
    client = environment.execute_async("hostile")
    assert isinstance(client, InProcessJobClient)
    return client


def test_a_job_keeps_hostile_records_and_goes_on_from_them(tmp_path: Path) -> None:
    client = started(tmp_path)
    for _ in range(4):
        client.run_batch()
    savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
    started(tmp_path, savepoint).wait()
    lines = "".join(path.read_text() for path in (tmp_path / "out").rglob("part*"))
    assert all(repr(each) in lines for each in BAD)


def test_a_stage_gives_hostile_messages_back() -> None:
    writer = StageWriter("", "", 10**6)
    writer.append(("topic", BAD, BAD, None, None, [[("header", each)] for each in BAD]), len(BAD))
    stage = writer.finish(job_id="job", uid="sink", subtask=0, version=1, attempt="a")
    assert stage is not None
    assert [block[1] for block in unpack(pack(stage)).blocks()] == [BAD]


@pytest.mark.parametrize("bad", BAD)
def test_typed_bytes_are_never_taken_for_a_pickle(bad: bytes) -> None:
    for declared in (Types.PRIMITIVE_ARRAY(Types.BYTE()), None):
        serializer = serializer_for(declared, "state")
        assert serializer.loads(serializer.dumps(bad)) == bad
