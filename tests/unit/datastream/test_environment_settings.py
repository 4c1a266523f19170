"""Settings of a job: read from configuration keys, from calls, and which of them counts."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from penstock.common.configuration import Configuration
from penstock.common.restart_strategy import RestartStrategies
from penstock.common.time import Duration
from penstock.datastream.checkpoint_storage import FileSystemCheckpointStorage
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.datastream.execution_mode import RuntimeExecutionMode
from penstock.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from penstock.datastream.slot_sharing_group import SlotSharingGroup
from penstock.datastream.state_backend import CustomStateBackend, EmbeddedRocksDBStateBackend, HashMapStateBackend
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import ConfigurationError, GraphError
from penstock.graph.declared_settings import JOB_NAME, SETTINGS
from penstock.graph.settings import JobSettings


def read(**dotted: Any) -> JobSettings:
    return JobSettings.from_configuration({key.replace("__", ".").replace("_", "-"): dotted[key] for key in dotted})


def settings_of(env: StreamExecutionEnvironment) -> JobSettings:
    return env._settings(None)


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_nothing_said() -> None:
    settings = JobSettings.from_configuration({})
    assert settings == JobSettings(parallelism=os.cpu_count() or 1)
    assert (settings.job_name, settings.chaining, settings.runtime_mode) == (
        SETTINGS[JOB_NAME].default,
        True,
        "STREAMING",
    )
    assert (settings.max_records_per_batch, settings.watermark_every_records) == (500_000, 50_000)
    assert (settings.max_bytes_per_batch, settings.target_batch_ms) == (256 << 20, 10_000)
    assert (settings.trigger_interval_ms, settings.checkpoint_directory, settings.state_backend) == (None, None, "lmdb")


def test_every_key_is_read() -> None:
    configuration = Configuration.from_dict(
        {
            "pipeline.name": "named",
            "parallelism.default": "3",
            "pipeline.max-parallelism": 64,
            "pipeline.operator-chaining.enabled": "false",
            "execution.checkpointing.dir": "/checkpoints",
            "execution.checkpointing.interval": "10 s",
            "execution.checkpointing.min-pause": "3 s",
            "execution.checkpointing.externalized-checkpoint-retention": "retain_on_cancellation",
            "execution.checkpointing.num-retained": 5,
            "execution.runtime-mode": "batch",
            "penstock.batch.max-records": "10",
            "penstock.batch.max-bytes": "64 mb",
            "penstock.batch.target-time": "2 s",
            "pipeline.watermark-every-records": 20,
            "state.backend.type": "hashmap",
            "state.backend.rocksdb.localdir": "/fast,/slow",
            "spark.master": "local[2]",
            "spark.ui.enabled": False,
            "python.files": "a.py, b.zip",
            "python.executable": "python3.12",
            "pipeline.global-job-parameters": "region:eu,level:2",
        }
    )
    assert JobSettings.from_configuration(configuration) == JobSettings(
        job_name="named",
        parallelism=3,
        max_parallelism=64,
        chaining=False,
        checkpoint_directory="/checkpoints",
        retention="RETAIN_ON_CANCELLATION",
        retained_versions=5,
        trigger_interval_ms=10_000,
        min_pause_ms=3_000,
        runtime_mode="BATCH",
        restart_strategy=JobSettings.from_configuration(
            {"restart-strategy.type": "exponential-delay"}
        ).restart_strategy,
        max_records_per_batch=10,
        max_bytes_per_batch=64 << 20,
        target_batch_ms=2_000,
        state_backend="heap",
        state_directory="/fast",
        spark_master="local[2]",
        spark_config={
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.pyspark.python": "python3.12",
        },
        python_files=("a.py", "b.zip"),
        job_parameters={"region": "eu", "level": "2"},
        watermark_every_records=20,
    )


@pytest.mark.parametrize(
    ("former", "value", "name", "expected"),
    [
        ("state.checkpoints.dir", "/old", "checkpoint_directory", "/old"),
        ("state.backend", "rocksdb", "state_backend", "rocksdb"),
        ("state.checkpoints.num-retained", "2", "retained_versions", 2),
        ("pipeline.operator-chaining", "FALSE", "chaining", False),
    ],
)
def test_former_names_still_work(former: str, value: str, name: str, expected: Any) -> None:
    assert getattr(JobSettings.from_configuration({former: value}), name) == expected


def test_the_current_name_wins_over_the_former() -> None:
    both = {"state.checkpoints.dir": "/old", "execution.checkpointing.dir": "/new"}
    assert JobSettings.from_configuration(both).checkpoint_directory == "/new"


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("parallelism.default", "0", "1 or more"),
        ("parallelism.default", "many", "whole number"),
        ("parallelism.default", 2.5, "whole number"),
        ("parallelism.default", True, "whole number"),
        ("pipeline.max-parallelism", "40000", "from 1 to 32768"),
        ("pipeline.operator-chaining.enabled", "perhaps", "true or false"),
        ("execution.checkpointing.dir", " ", "not be empty"),
        ("execution.checkpointing.interval", "5 parsecs", "duration"),
        ("execution.checkpointing.interval", "0 s", "longer than 0 ms"),
        ("execution.runtime-mode", "lazy", "STREAMING, BATCH, AUTOMATIC"),
        ("restart-strategy.type", "pray", "none, off, disable, fixed-delay"),
        ("penstock.batch.max-records", "-1", "1 or more"),
        ("penstock.batch.max-bytes", "0 mb", "at least a byte"),
        ("penstock.batch.max-bytes", "64 megs", "at least a byte"),
        ("penstock.batch.target-time", "soon", "duration"),
        ("pipeline.watermark-every-records", "x", "whole number"),
        ("state.backend.type", "tape", "hashmap, rocksdb, lmdb"),
        ("state.backend.rocksdb.localdir", ",", "not be empty"),
        ("execution.checkpointing.min-pause", "soon", "duration"),
        ("execution.checkpointing.num-retained", "0", "1 or more"),
        ("execution.checkpointing.externalized-checkpoint-retention", "SHRED", "RETAIN_ON_CANCELLATION"),
        ("state.backend", "tape", "lmdb"),
        ("pipeline.global-job-parameters", "novalue", "key:value"),
        ("python.executable", "", "not be empty"),
    ],
)
def test_a_bad_value_names_its_key(key: str, value: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text) as failure:
        JobSettings.from_configuration({key: value})
    assert repr(key) in str(failure.value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *[("7", 7), (7, 7), ("7b", 7), ("2 bytes", 2), ("3k", 3 << 10), ("3 KB", 3 << 10), ("3kib", 3 << 10)],
        *[("5 mb", 5 << 20), ("5 mebibytes", 5 << 20), ("1g", 1 << 30), (" 2 tb ", 2 << 40)],
    ],
)
def test_sizes_as_flink_writes_them(text: Any, size: int) -> None:
    assert JobSettings.from_configuration({"penstock.batch.max-bytes": text}).max_bytes_per_batch == size


def test_restart_strategies_by_key() -> None:
    fixed = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "7"}
    fixed["restart-strategy.fixed-delay.delay"] = "2 s"
    assert JobSettings.from_configuration(fixed).restart_strategy == RestartStrategies.fixed_delay_restart(7, 2_000)
    rate = {"restart-strategy": "failure-rate", "restart-strategy.failure-rate.failure-rate-interval": "5 min"}
    assert JobSettings.from_configuration(rate).restart_strategy == RestartStrategies.failure_rate_restart(
        1, 300_000, 1_000
    )
    off = JobSettings.from_configuration({"restart-strategy.type": "off", "execution.checkpointing.interval": "1 s"})
    assert off.restart_strategy == RestartStrategies.no_restart()
    exponential: Any = read(
        restart_strategy__type="exponential-delay",
        restart_strategy__exponential_delay__initial_backoff="3 s",
        restart_strategy__exponential_delay__jitter_factor="0.5",
        restart_strategy__exponential_delay__attempts_before_reset_backoff=4,
    ).restart_strategy
    assert (exponential.initial_backoff, exponential.jitter_factor, exponential.attempts_before_reset) == (
        3_000,
        0.5,
        4,
    )


def test_a_restart_strategy_that_makes_no_sense_names_its_key() -> None:
    with pytest.raises(ConfigurationError, match=r"'exponential-delay' of key 'restart-strategy\.type': max_backoff"):
        read(
            restart_strategy__type="exponential-delay",
            restart_strategy__exponential_delay__max_backoff="1 ms",
        )


def test_without_a_word_on_restarts_checkpoints_decide() -> None:
    assert JobSettings.from_configuration({}).restart_strategy == RestartStrategies.no_restart()
    checkpointed: Any = read(execution__checkpointing__interval=100).restart_strategy
    assert (checkpointed.initial_backoff, checkpointed.max_backoff) == (1_000, 60_000)


def test_default_parallelism_keeps_to_the_threads_of_a_local_master() -> None:
    cores = os.cpu_count() or 1
    assert read(spark__master="local[1]").parallelism == 1
    assert read(spark__master="local[1, 4]").parallelism == 1
    assert read(spark__master="local[*]").parallelism == cores
    assert read(spark__master="local[100000]").parallelism == cores
    assert read(spark__master="local[1]", parallelism__default=5).parallelism == 5


def test_settings_travel() -> None:
    settings = read(
        restart_strategy__type="exponential-delay",
        restart_strategy__exponential_delay__jitter_factor=0.1,
        spark__master="local[2]",
    )
    assert cloudpickle.loads(cloudpickle.dumps(settings)) == settings


def test_durations_and_lists_may_be_objects() -> None:
    configuration = Configuration.from_dict(
        {
            "execution.checkpointing.interval": Duration.of_seconds(2),
            "python.files": ["a.py", "b.py"],
            "pipeline.global-job-parameters": {"a": 1},
        }
    )
    settings = JobSettings.from_configuration(configuration)
    assert (settings.trigger_interval_ms, settings.python_files) == (2_000, ("a.py", "b.py"))
    assert settings.job_parameters == {"a": "1"}


# ---- the environment's calls ----


def test_calls_reach_the_settings(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(3).set_max_parallelism(96).set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.disable_operator_chaining().enable_checkpointing(250, CheckpointingMode.AT_LEAST_ONCE)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 50)).set_state_backend(HashMapStateBackend())
    env.get_config().set_global_job_parameters({"region": "eu"})
    env.set_python_executable("python3.12")
    settings = settings_of(env)
    assert (settings.parallelism, settings.max_parallelism, settings.runtime_mode) == (3, 96, "BATCH")
    assert (settings.chaining, settings.trigger_interval_ms, settings.state_backend) == (False, 250, "heap")
    assert settings.restart_strategy == RestartStrategies.fixed_delay_restart(3, 50)
    assert settings.job_parameters == {"region": "eu"}
    assert settings.spark_config == {"spark.pyspark.python": "python3.12"}
    assert (env.get_parallelism(), env.get_max_parallelism(), env.is_chaining_enabled()) == (3, 96, False)
    assert (env.get_checkpoint_interval(), env.get_checkpointing_mode()) == (250, CheckpointingMode.AT_LEAST_ONCE)
    assert env.get_checkpointing_consistency_mode() == CheckpointingMode.AT_LEAST_ONCE


def test_a_state_backend_is_chosen_by_class_or_name(env: StreamExecutionEnvironment) -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("/fast", "/slow")
    settings = settings_of(env.set_state_backend(backend))
    assert (settings.state_backend, settings.state_directory) == ("rocksdb", "/fast")
    for name in ("lmdb", "rocksdb"):
        assert settings_of(env.set_state_backend(CustomStateBackend(name))).state_backend == name
    with pytest.raises(ConfigurationError, match=r"'tape' was chosen, but it must be one of hashmap"):
        env.set_state_backend(CustomStateBackend("tape"))


def test_rocksdb_without_its_package_is_refused_before_anything_runs(
    env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "rocksdict" else found(name))
    with pytest.raises(ConfigurationError, match=r"state\.backend\.type.*pip install 'penstock\[rocksdb\]'"):
        JobSettings.from_configuration({"state.backend.type": "rocksdb"})
    with pytest.raises(ConfigurationError, match=r"'rocksdb' was chosen.*pip install 'penstock\[rocksdb\]'"):
        env.set_state_backend(EmbeddedRocksDBStateBackend())


def test_pause_and_retention_of_checkpoints(env: StreamExecutionEnvironment) -> None:
    assert not settings_of(env).deletes_when_cancelled
    config = env.enable_checkpointing(100).get_checkpoint_config()
    config.set_min_pause_between_checkpoints(250)
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION)
    settings = settings_of(env)
    assert (settings.trigger_interval_ms, settings.batch_interval_ms, env.get_checkpoint_interval()) == (100, 250, 100)
    assert settings.deletes_when_cancelled
    by_key = {
        "execution.checkpointing.min-pause": "10 ms",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }
    env.configure(Configuration.from_dict(by_key))
    assert settings_of(env).batch_interval_ms == 100, "the later of key and call counts"
    assert config.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    assert not settings_of(env).deletes_when_cancelled


def test_what_was_not_set(env: StreamExecutionEnvironment) -> None:
    assert (env.get_max_parallelism(), env.get_checkpoint_interval(), env.get_buffer_timeout()) == (-1, -1, 10)
    assert (env.get_default_savepoint_directory(), env.is_changelog_state_backend_enabled()) == (None, None)
    assert (env.is_unaligned_checkpoints_enabled(), env.is_force_unaligned_checkpoints()) == (False, False)
    assert env.is_chaining_enabled()
    assert not env.is_chaining_of_operators_with_different_max_parallelism_enabled()


@pytest.mark.filterwarnings("ignore:.* has no effect")
def test_settings_that_are_only_kept(env: StreamExecutionEnvironment) -> None:
    env.set_buffer_timeout(5).set_default_savepoint_directory("/savepoints").enable_changelog_state_backend(True)
    env.register_slot_sharing_group(SlotSharingGroup.builder("big").build())
    assert (env.get_buffer_timeout(), env.get_default_savepoint_directory()) == (5, "/savepoints")
    assert env.is_changelog_state_backend_enabled() is True


def test_the_later_of_key_and_call_counts(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(2).enable_checkpointing(100)
    env.configure(Configuration.from_dict({"parallelism.default": 5, "execution.checkpointing.interval": "1 s"}))
    assert (env.get_parallelism(), env.get_checkpoint_interval()) == (5, 1_000)
    env.set_parallelism(4).enable_checkpointing(200)
    assert (env.get_parallelism(), env.get_checkpoint_interval()) == (4, 200)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 1))
    env.configure(Configuration.from_dict({"restart-strategy.type": "none"}))
    assert settings_of(env).restart_strategy == RestartStrategies.no_restart()
    env.configure(Configuration.from_dict({"pipeline.name": "kept"}))
    assert (env.get_parallelism(), settings_of(env).job_name) == (4, "kept")


def test_a_bad_configuration_is_refused_and_changes_nothing(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ConfigurationError, match=r"state\.backend\.type"):
        env.configure(Configuration.from_dict({"parallelism.default": 7, "state.backend.type": "tape"}))
    assert env.get_parallelism() == (os.cpu_count() or 1)
    wrong: Any = {"parallelism.default": 7}
    with pytest.raises(ConfigurationError, match="expected a Configuration"):
        StreamExecutionEnvironment.get_execution_environment(wrong)


def test_the_checkpoint_directory_comes_from_the_storage_or_the_key(env: StreamExecutionEnvironment) -> None:
    env.configure(Configuration.from_dict({"execution.checkpointing.dir": "/from-key"}))
    assert settings_of(env).checkpoint_directory == "/from-key"
    env.get_checkpoint_config().set_checkpoint_storage(FileSystemCheckpointStorage("/from-storage"))
    assert settings_of(env).checkpoint_directory == "/from-storage"


def test_default_local_parallelism(env: StreamExecutionEnvironment) -> None:
    assert env.get_default_local_parallelism() == (os.cpu_count() or 1)
    env.set_default_local_parallelism(6)
    assert (env.get_default_local_parallelism(), env.get_parallelism()) == (6, 6)
    assert env.set_parallelism(2).get_parallelism() == 2


def test_files_for_the_workers(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    module, archive, table = (str(tmp_path / name) for name in ("m.py", "a.zip", "t.csv"))
    for path in (module, archive, table):
        Path(path).touch()
    env.configure(Configuration.from_dict({"spark.archives": "/first.zip", "python.files": "first.py"}))
    env.add_python_file(module)
    env.add_python_archive(archive, "data")
    env.add_python_archive("hdfs://host/b.zip")
    env.register_cached_file(table, "table")
    settings = settings_of(env)
    assert settings.python_files == ("first.py", module)
    assert settings.spark_config == {
        "spark.archives": f"/first.zip,{archive}#data,hdfs://host/b.zip",
        "spark.files": table,
    }


def test_java_settings_warn_with_the_reason(env: StreamExecutionEnvironment) -> None:
    with pytest.warns(UserWarning, match="add_jars has no effect: Penstock runs no Java operators"):
        env.add_jars("file:///a.jar")
    with pytest.warns(UserWarning, match="add_classpaths has no effect"):
        env.add_classpaths("file:///a.jar")


def test_requirements_are_a_setting(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.touch()
    env.set_python_requirements(str(requirements))
    assert settings_of(env).python_requirements == str(requirements)
    env.set_python_requirements(str(requirements), str(tmp_path))
    assert settings_of(env).python_requirements == f"{requirements}#{tmp_path}"


MISTAKES: list[tuple[str, tuple[Any, ...], str]] = [
    ("set_parallelism", (0,), "parallelism of the environment must be an int of 1 or more, got 0"),
    ("set_parallelism", ("2",), "the environment"),
    ("set_max_parallelism", (40_000,), "max parallelism of the environment must be an int from 1 to 32768"),
    ("set_default_local_parallelism", (-1,), "1 or more"),
    ("set_runtime_mode", ("BATCH",), "set_runtime_mode: expected a RuntimeExecutionMode"),
    ("set_buffer_timeout", (-5,), "set_buffer_timeout"),
    ("enable_checkpointing", (0,), "the interval must be milliseconds of 1 or more, got 0"),
    ("enable_checkpointing", (10, "exactly"), "expected a CheckpointingMode"),
    ("set_state_backend", ("rocksdb",), "set_state_backend: expected a HashMapStateBackend"),
    ("set_restart_strategy", ("none",), "set_restart_strategy: expected one of RestartStrategies"),
    ("register_slot_sharing_group", ("big",), "register_slot_sharing_group: expected a SlotSharingGroup"),
    ("set_default_savepoint_directory", ("",), "set_default_savepoint_directory"),
]


@pytest.mark.parametrize(("method", "arguments", "text"), MISTAKES, ids=[text for _, _, text in MISTAKES])
def test_mistakes_are_refused_at_the_call(
    env: StreamExecutionEnvironment, method: str, arguments: tuple[Any, ...], text: str
) -> None:
    with pytest.raises(GraphError, match=text):
        getattr(env, method)(*arguments)


@pytest.mark.parametrize("method", ["add_python_file", "add_python_archive", "set_python_requirements"])
def test_files_that_are_not_there_are_refused(env: StreamExecutionEnvironment, tmp_path: Path, method: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{method}: there is no file or folder"):
        getattr(env, method)(str(tmp_path / "missing"))


def test_a_misspelt_key_of_our_own_is_refused_and_the_right_one_named() -> None:
    with pytest.raises(ConfigurationError, match=r"'penstock.batch.max-record' is not known; did you mean 'penstock"):
        read(penstock__batch__max_record=5)
    with pytest.raises(ConfigurationError, match=r"'penstock.colour' is not known; known are penstock.batch"):
        read(penstock__colour="red")
