"""Details that PyFlink's own tests ask for: what is refused, how settings are written, where names are found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.common.serialization import RowFieldExtractorSchema
from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.datastream.checkpoint_storage import FileSystemCheckpointStorage
from penstock.datastream.connectors.file_system import (
    FileEnumeratorProvider,
    FileSource,
    FileSplitAssignerProvider,
    StreamFormat,
)
from penstock.datastream.data_stream import KeyedStream
from penstock.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from penstock.datastream.state import MapStateDescriptor
from penstock.datastream.state_backend import EmbeddedRocksDBStateBackend
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import ConfigurationError, GraphError


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.in_process()


DEALING: list[tuple[str, Callable[[KeyedStream], Any]]] = [
    ("shuffle", lambda s: s.shuffle()),
    ("rebalance", lambda s: s.rebalance()),
    ("rescale", lambda s: s.rescale()),
    ("forward", lambda s: s.forward()),
    ("global_", lambda s: s.global_()),
    ("broadcast", lambda s: s.broadcast()),
    ("broadcast", lambda s: s.broadcast(MapStateDescriptor("rules"))),
    ("partition_custom", lambda s: s.partition_custom(lambda key, count: 0, str)),
]


@pytest.mark.parametrize(("method", "deal"), DEALING)
def test_a_keyed_stream_is_dealt_out_by_its_key_only(
    env: StreamExecutionEnvironment, method: str, deal: Callable[[KeyedStream], Any]
) -> None:
    keyed = env.from_collection([("a", 1)]).key_by(lambda value: value[0])
    with pytest.raises(GraphError, match=f"{method}: the elements of a keyed stream .* before key_by"):
        deal(keyed)


def test_from_collection_keeps_its_order_whatever_the_parallelism(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(4)
    numbers = list(range(20_000))
    assert list(env.from_collection(numbers).execute_and_collect()) == numbers
    one = env.from_collection(numbers).map(lambda value: value + 1).set_parallelism(1)
    assert list(one.execute_and_collect()) == [value + 1 for value in numbers]


def test_a_union_of_one_stream_is_that_stream(env: StreamExecutionEnvironment) -> None:
    assert list(env.from_collection([1, 2]).union().execute_and_collect()) == [1, 2]


@pytest.mark.parametrize(
    "build",
    [
        lambda: SlotSharingGroup.builder("g").set_cpu_cores(1.0).set_task_off_heap_memory_mb(10).build(),
        lambda: SlotSharingGroup.builder("g").set_cpu_cores(1.0).set_task_heap_memory(MemorySize(0)).build(),
        lambda: SlotSharingGroup.builder("g").set_task_heap_memory_mb(10).build(),
        lambda: SlotSharingGroup.builder("g").set_external_resource("gpu", 1.0).build(),
    ],
)
def test_a_slot_sharing_group_with_resources_needs_cores_and_heap(build: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"slot sharing group 'g' .* CPU cores and task heap memory"):
        build()


def test_configurations_are_written_as_flink_writes_them() -> None:
    assert str(Configuration.from_dict({"k1": "v1", "k2": 1, "k3": True})) == "{k1=v1, k2=1, k3=true}"


@pytest.mark.parametrize("text", ["[jar1, jar2]", "- jar1\n- jar2", "jar1;jar2", "['jar1', 'jar2']"])
def test_lists_are_read_in_all_of_flinks_forms(text: str) -> None:
    assert Configuration.parse_list_value(text) == ["jar1", "jar2"]


def test_no_list_is_an_empty_one() -> None:
    assert Configuration.parse_list_value(None) == Configuration.parse_list_value("") == []


@pytest.mark.parametrize("key", ["execution.buffer-timeout", "execution.buffer-timeout.interval"])
def test_the_buffer_timeout_is_read_by_either_key(env: StreamExecutionEnvironment, key: str) -> None:
    env.configure(Configuration.from_dict({key: "1 min"}))
    assert env.get_buffer_timeout() == 60_000
    assert env.set_buffer_timeout(12).get_buffer_timeout() == 12


def test_directories_are_given_back_in_one_form() -> None:
    assert FileSystemCheckpointStorage("file:///var/checkpoints/").get_checkpoint_path() == "file:///var/checkpoints"
    assert FileSystemCheckpointStorage("/").get_checkpoint_path() == "/"
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("file:///var/db/", "/mnt/db", "/")
    assert backend.get_db_storage_paths() == ["/var/db", "/mnt/db", "/"]


def test_a_field_extractor_is_a_value() -> None:
    schema = RowFieldExtractorSchema(1)
    assert (schema.serialize(Row(b"a", b"b")), schema.serialize(None), schema.serialize(Row(b"a", None))) == (
        b"b",
        b"",
        b"",
    )
    assert schema == RowFieldExtractorSchema(1) != RowFieldExtractorSchema(2)
    assert hash(schema) == hash(RowFieldExtractorSchema(1))
    with pytest.raises(ValueError, match="Field index must be non-negative"):
        RowFieldExtractorSchema(-1)


def test_the_guarantee_of_a_sink_is_found_where_the_kafka_sink_is() -> None:
    from penstock.datastream.connectors import base, kafka

    assert kafka.DeliveryGuarantee is base.DeliveryGuarantee


def test_a_keyed_stream_is_collected_in_the_order_of_its_input(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(2)
    words = ["pen", "stock", "pen", "flow", "stock", "pen"]
    with env.from_collection(words).key_by(lambda word: word, Types.STRING()).execute_and_collect() as rows:
        assert list(rows) == [Row(f0=word, f1=word) for word in words]


def test_how_files_are_found_may_be_said_and_is_the_engines_affair(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    builder.set_file_enumerator(FileEnumeratorProvider.default_splittable_file_enumerator())
    builder.set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
    with pytest.warns(UserWarning, match="set_file_enumerator has no effect: the engine lists the files"):
        builder.set_file_enumerator(FileEnumeratorProvider.default_non_splittable_file_enumerator())
    env = StreamExecutionEnvironment.in_process()
    assert list(env.from_source(builder.build(), None, "files").execute_and_collect()) == ["one", "two"]
    with pytest.raises(ConfigurationError, match="set_split_assigner: expected a FileSplitAssignerProvider"):
        builder.set_split_assigner(FileEnumeratorProvider())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="set_file_enumerator: expected a FileEnumeratorProvider"):
        builder.set_file_enumerator("all")  # type: ignore[arg-type]
