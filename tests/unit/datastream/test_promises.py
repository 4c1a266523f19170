"""Settings and interfaces either do what they promise or warn with the reason."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Configuration, ExecutionConfig
from penstock.common.typeinfo import Types
from penstock.connectors.sink import Sink
from penstock.datastream.connectors.base import StreamTransformer, SupportsPreprocessing
from penstock.datastream.slot_sharing_group import SlotSharingGroup
from penstock.datastream.state_backend import EmbeddedRocksDBStateBackend, PredefinedOptions
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import GraphError
from penstock.testing import CollectSink


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.in_process()


def in_process(env: StreamExecutionEnvironment, by: str, key: str) -> None:
    """Demand something by call or by key."""
    if by == "call":
        getattr(env.get_config(), {"uids": "disable_auto_generated_uids", "types": "disable_generic_types"}[key])()
    else:
        name = {"uids": "pipeline.auto-generate-uids", "types": "pipeline.generic-types"}[key]
        env.configure(Configuration.from_dict({name: "false"}))


@pytest.mark.parametrize("by", ["call", "key"])
def test_without_generated_uids_every_operator_needs_one(env: StreamExecutionEnvironment, by: str) -> None:
    in_process(env, by, "uids")
    env.from_collection([1]).uid("in").map(str).name("texts").add_sink(CollectSink())
    with pytest.raises(GraphError, match=r"operators 'texts', 'Sink: CollectSink' have no uid.*\.uid\("):
        env.execute()


def test_with_uids_of_its_own_a_job_runs(env: StreamExecutionEnvironment) -> None:
    env.get_config().disable_auto_generated_uids()
    keyed = env.from_collection([1, 2]).uid("in").key_by(lambda value: value)
    assert sorted(keyed.reduce(max).uid("largest").execute_and_collect()) == [1, 2]
    assert len(list(keyed.execute_and_collect())) == 2
    env.get_config().enable_auto_generated_uids()
    assert list(env.from_collection([1]).execute_and_collect()) == [1]


@pytest.mark.parametrize("by", ["call", "key"])
def test_without_generic_types_every_stream_needs_a_type(env: StreamExecutionEnvironment, by: str) -> None:
    in_process(env, by, "types")
    typed = env.from_collection([1], Types.INT()).map(lambda value: value + 1, Types.INT())
    assert list(typed.filter(lambda value: True).execute_and_collect()) == [2]
    typed.map(str).name("texts").print()
    with pytest.raises(GraphError, match=r"operators 'texts' have no declared type.*output_type="):
        env.execute()


CALLS: list[tuple[str, Callable[[], Any]]] = [
    ("set_task_cancellation_interval", lambda: ExecutionConfig().set_task_cancellation_interval(5)),
    ("set_latency_tracking_interval", lambda: ExecutionConfig().set_latency_tracking_interval(5)),
    ("disable_closure_cleaner", lambda: ExecutionConfig().disable_closure_cleaner()),
    ("enable_force_kryo", lambda: ExecutionConfig().enable_force_kryo()),
    ("enable_force_avro", lambda: ExecutionConfig().enable_force_avro()),
    (
        "set_predefined_options",
        lambda: EmbeddedRocksDBStateBackend().set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED),
    ),
    ("set_options", lambda: EmbeddedRocksDBStateBackend().set_options("a.Factory")),
    ("set_number_of_transfer_threads", lambda: EmbeddedRocksDBStateBackend().set_number_of_transfer_threads(2)),
    (r"EmbeddedRocksDBStateBackend\(False\)", lambda: EmbeddedRocksDBStateBackend(False)),
    (r"set_buffer_timeout\(-1\)", lambda: StreamExecutionEnvironment.in_process().set_buffer_timeout(-1)),
    (
        "set_buffer_timeout of a stream",
        lambda: StreamExecutionEnvironment.in_process().from_collection([1]).set_buffer_timeout(5),
    ),
    (
        "slot_sharing_group",
        lambda: StreamExecutionEnvironment.in_process().from_collection([1]).slot_sharing_group("g"),
    ),
    (
        "register_slot_sharing_group",
        lambda: StreamExecutionEnvironment.in_process().register_slot_sharing_group(
            SlotSharingGroup.builder("g").build()
        ),
    ),
    (
        r"enable_changelog_state_backend\(False\)",
        lambda: StreamExecutionEnvironment.in_process().enable_changelog_state_backend(False),
    ),
]


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_a_call_without_effect_says_so_and_why(name: str, call: Callable[[], Any]) -> None:
    with pytest.warns(UserWarning, match=f"^{name} has no effect: .+") as told:
        call()
    assert told[0].filename == __file__


def test_what_is_so_anyway_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = ExecutionConfig().set_latency_tracking_interval(0).enable_closure_cleaner().disable_force_kryo()
        config.set_use_snapshot_compression(True)
        EmbeddedRocksDBStateBackend(True).set_predefined_options(PredefinedOptions.DEFAULT)


class Doubling(StreamTransformer):
    def apply(self, ds: Any) -> Any:
        return ds.map(lambda value: value * 2).name("doubled")


class Prepared(Sink, SupportsPreprocessing):
    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def get_transformer(self) -> Any:
        return self.transformer

    def create_writer(self, context: Any) -> Any:
        raise AssertionError("the plan is all that is asked for")


def test_a_sink_may_transform_its_stream_first(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).sink_to(Prepared(Doubling()))
    assert "doubled" in env.explain()
    env.close()
    env.from_collection([1]).sink_to(Prepared(None))
    assert "doubled" not in env.explain()


def test_a_transformer_must_give_a_stream(env: StreamExecutionEnvironment) -> None:
    class Nothing(StreamTransformer):
        def apply(self, ds: Any) -> Any:
            return None

    with pytest.raises(GraphError, match="sink_to: apply\\(\\) of 'Nothing', the transformer of 'Prepared'"):
        env.from_collection([1]).sink_to(Prepared(Nothing()))
