"""Functions, state descriptors, tags and job settings as users name them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import cloudpickle
import pytest

from penstock.common import Duration, Time, Types
from penstock.datastream import functions
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.datastream.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from penstock.datastream.output_tag import OutputTag
from penstock.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.datastream.state_backend import CustomStateBackend, EmbeddedRocksDBStateBackend, PredefinedOptions
from penstock.errors import ConfigurationError

OPTIONAL = {"open", "close", "on_timer", "clear", "timeout"}


class Total(functions.AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


@pytest.mark.parametrize(
    "name", [name for name in functions.__all__ if name not in ("AsyncFunctionDescriptor", "TimerService")]
)
def test_a_function_without_its_methods_cannot_be_made(name: str) -> None:
    function_class = getattr(functions, name)
    if name in ("Function", "BaseBroadcastProcessFunction", "ReduceFunctionWrapper"):
        assert not function_class.__abstractmethods__
        return
    assert function_class.__abstractmethods__ and not function_class.__abstractmethods__ & OPTIONAL
    with pytest.raises(TypeError, match="abstract"):
        function_class()


def test_hooks_need_not_be_written() -> None:
    class Keep(functions.KeyedProcessFunction):
        def process_element(self, value: Any, ctx: functions.KeyedProcessFunction.Context) -> list[Any]:
            return [value]

    keep = Keep()
    keep.open(None)  # type: ignore[arg-type]
    assert keep.on_timer(5, None) is None  # type: ignore[arg-type]
    keep.close()


def test_window_functions_are_generic() -> None:
    assert functions.ProcessWindowFunction[int, str, str, Any]
    assert functions.ProcessWindowFunction.Context[Any]
    assert functions.WindowFunction[int, int, int, Any] and functions.ProcessAllWindowFunction[int, int, Any]


def test_a_slow_asynchronous_call_fails_by_default() -> None:
    class Lookup(functions.AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            return [value]

    with pytest.raises(TimeoutError, match="element 5"):
        Lookup().timeout(5)


def test_output_tags_are_their_id() -> None:
    assert OutputTag("late", Types.INT()) == OutputTag("late") != OutputTag("other")
    assert {OutputTag("late"): 1}[pickle.loads(pickle.dumps(OutputTag("late", Types.INT())))] == 1
    for wrong in ("", None, 5):
        with pytest.raises(ValueError, match="non-empty string as its id"):
            OutputTag(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'late' must be one of Types"):
        OutputTag("late", int)  # type: ignore[arg-type]


def test_descriptors() -> None:
    value = ValueStateDescriptor("count", Types.LONG())
    assert (value.name, value.get_name(), value.type_info) == ("count", "count", Types.LONG())
    assert ListStateDescriptor("all", Types.INT()).type_info == Types.LIST(Types.INT())
    mapping = MapStateDescriptor("m", Types.STRING(), Types.INT())
    assert (mapping.key_type_info, mapping.value_type_info) == (Types.STRING(), Types.INT())
    reducing = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT())
    sent = cloudpickle.loads(cloudpickle.dumps(reducing))
    assert sent.get_reduce_function().reduce(1, 2) == 3
    total = Total()
    assert AggregatingStateDescriptor("total", total).get_agg_function() is total
    assert ValueStateDescriptor("x").type_info == Types.PICKLED_BYTE_ARRAY()
    assert ValueStateDescriptor("x") == ValueStateDescriptor("x") != ListStateDescriptor("x")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ValueStateDescriptor(""), "non-empty string as its name"),
        (lambda: ValueStateDescriptor("s", int), "state 's': expected one of Types"),  # type: ignore[arg-type]
        (lambda: ReducingStateDescriptor("s", 5), "state 's': expected a ReduceFunction or a callable"),  # type: ignore[arg-type]
        (lambda: AggregatingStateDescriptor("s", max), "state 's': expected an AggregateFunction"),  # type: ignore[arg-type]
        (lambda: ValueStateDescriptor("s").enable_time_to_live(5), "state 's': expected a StateTtlConfig"),  # type: ignore[arg-type]
    ],
)
def test_wrong_descriptors_are_refused(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_time_to_live() -> None:
    strategies = StateTtlConfig.CleanupStrategies
    config = StateTtlConfig.new_builder(Time.days(1)).build()
    assert config.is_enabled() and config.get_ttl() == Time.days(1)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    default = config.get_cleanup_strategies().get_incremental_cleanup_strategy()
    assert default is not None and default.get_cleanup_size() == 5

    config = (
        StateTtlConfig.new_builder(Duration.of_seconds(1))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(10, True)
        .cleanup_in_rocksdb_compact_filter(7)
        .disable_cleanup_in_background()
        .build()
    )
    cleanup = config.get_cleanup_strategies()
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    assert cleanup.in_full_snapshot() and not cleanup.is_cleanup_in_background()
    incremental = cleanup.get_incremental_cleanup_strategy()
    assert incremental is not None and incremental.run_cleanup_for_every_record()
    filtered = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert filtered is not None and filtered.get_query_time_after_num_entries() == 7
    assert pickle.loads(pickle.dumps(config)).get_ttl() == Duration.of_seconds(1)

    nothing = strategies({}, False)
    assert nothing.get_incremental_cleanup_strategy() is None
    assert nothing.get_rocksdb_compact_filter_cleanup_strategy() is None
    off = StateTtlConfig.new_builder(Time.days(1)).set_update_type(StateTtlConfig.UpdateType.Disabled).build()
    assert not off.is_enabled()
    with pytest.raises(ConfigurationError, match="at least one millisecond"):
        StateTtlConfig.new_builder(Duration.of_millis(0)).build()


def test_state_reads_like_python_collections() -> None:
    class Dict(MapState[str, int]):
        def __init__(self) -> None:
            self.get, self.put = (content := {}).get, content.__setitem__  # type: ignore[method-assign]
            self.remove, self.keys = content.pop, content.keys  # type: ignore[method-assign]
            self.contains = content.__contains__  # type: ignore[method-assign]

    Dict.__abstractmethods__ = frozenset()
    state = Dict()  # type: ignore[abstract]
    state["a"] = 1
    assert state["a"] == 1 and "a" in state and list(state) == ["a"]
    del state["a"]
    assert state["a"] is None

    class Nothing(ListState[int]):
        def get(self) -> None:
            return None

    Nothing.__abstractmethods__ = frozenset()
    assert list(Nothing()) == []  # type: ignore[abstract]


def test_checkpoint_settings() -> None:
    config = CheckpointConfig()
    assert not config.is_checkpointing_enabled() and config.checkpoint_directory() is None
    config.set_checkpoint_interval(500).set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    config.set_checkpoint_storage_dir("/somewhere")
    config.set_tolerable_checkpoint_failure_number(2)
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    assert config.is_checkpointing_enabled() and config.get_checkpoint_interval() == 500
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.checkpoint_directory() == "/somewhere"
    assert config.is_externalized_checkpoints_enabled() and not config.is_fail_on_checkpointing_errors()
    assert config.set_checkpoint_storage(JobManagerCheckpointStorage()).checkpoint_directory() is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: CheckpointConfig().set_checkpoint_interval(0),
        lambda: CheckpointConfig().set_checkpoint_timeout(True),
        lambda: CheckpointConfig().set_checkpointing_mode("exactly"),  # type: ignore[arg-type]
        lambda: CheckpointConfig().set_checkpoint_storage("/path"),  # type: ignore[arg-type]
        lambda: FileSystemCheckpointStorage(" "),
        lambda: FileSystemCheckpointStorage("/x", 2**30),
        lambda: EmbeddedRocksDBStateBackend().set_number_of_transfer_threads(0),
        lambda: EmbeddedRocksDBStateBackend().set_db_storage_paths(""),
        lambda: CustomStateBackend(""),
        lambda: MemorySize(-1),
        lambda: SlotSharingGroup(""),
        lambda: SlotSharingGroup.builder("g").set_cpu_cores(0),
    ],
)
def test_wrong_job_settings_are_refused(call: Any) -> None:
    with pytest.raises(ConfigurationError, match="got "):
        call()


CHECKPOINT_SETTINGS_WITHOUT_EFFECT: list[tuple[str, Any, str]] = [
    ("set_max_concurrent_checkpoints", 2, "starts when the previous one is final"),
    ("enable_unaligned_checkpoints", True, "always aligned"),
    ("set_force_unaligned_checkpoints", True, "always aligned"),
    ("set_aligned_checkpoint_timeout", Duration.of_seconds(1), "always aligned"),
]


@pytest.mark.parametrize(("method", "value", "reason"), CHECKPOINT_SETTINGS_WITHOUT_EFFECT)
def test_a_checkpoint_setting_without_effect_warns_with_the_reason(method: str, value: Any, reason: str) -> None:
    with pytest.warns(UserWarning, match=f"{method} has no effect: .*{reason}") as warned:
        getattr(CheckpointConfig(), method)(value)
    assert warned[0].filename == __file__


def test_asking_for_what_is_so_anyway_does_not_warn() -> None:
    config = CheckpointConfig().set_max_concurrent_checkpoints(1).set_fail_on_checkpointing_errors(True)
    config.disable_unaligned_checkpoints().set_tolerable_checkpoint_failure_number(0)
    assert config.set_force_unaligned_checkpoints(False).is_fail_on_checkpointing_errors()


@pytest.mark.filterwarnings("ignore:.* has no effect")
def test_backends_and_groups_are_data() -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("/a", "/b")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    assert backend.get_db_storage_paths() == ["/a", "/b"] and backend.is_incremental_checkpoints_enabled()
    group = SlotSharingGroup.builder("g").set_cpu_cores(1).set_task_heap_memory_mb(1).set_managed_memory_mb(2).build()
    assert (group.get_name(), group.get_cpu_cores(), group.get_managed_memory()) == ("g", 1.0, MemorySize(2 << 20))
    same = SlotSharingGroup.builder("g").set_cpu_cores(1.0).set_task_heap_memory_mb(1).set_managed_memory_mb(2)
    assert group == same.build()
    assert MemorySize.of_mebi_bytes(3).get_kibi_bytes() == 3072 and MemorySize(1) < MemorySize(2)


@pytest.mark.parametrize("first", ["penstock.datastream.functions", "penstock.runtime.context", "penstock.datastream"])
def test_vocabulary_loads_without_the_fluent_api_and_spark(first: str) -> None:
    program = (
        f"import sys, {first}; print([m for m in ('pyspark', 'penstock.datastream.data_stream') if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
