"""Checkpoint settings by configuration key: read like the calls, or accepted with a warning that says why."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Duration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.errors import ConfigurationError
from penstock.graph.unused_keys import warn_of_mode

PREFIX = "execution.checkpointing."


def configured(key: str, value: Any) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({key: value}))


KEPT: list[tuple[str, str, str, Any]] = [
    ("max-concurrent-checkpoints", "4", "get_max_concurrent_checkpoints", 4),
    ("unaligned.enabled", "true", "is_unaligned_checkpoints_enabled", True),
    ("unaligned", "true", "is_unaligned_checkpoints_enabled", True),
    ("unaligned.forced", "true", "is_force_unaligned_checkpoints", True),
    ("force-unaligned", "true", "is_force_unaligned_checkpoints", True),
    ("aligned-checkpoint-timeout", "3 s", "get_aligned_checkpoint_timeout", Duration.of_seconds(3)),
    ("alignment-timeout", "3 s", "get_alignment_timeout", Duration.of_seconds(3)),
]


@pytest.mark.parametrize(("key", "value", "getter", "expected"), KEPT)
def test_what_has_no_effect_is_kept_with_a_warning(key: str, value: str, getter: str, expected: Any) -> None:
    with pytest.warns(UserWarning, match=f"configuration key '{PREFIX}{key}' has no effect: .*(batch|aligned)"):
        env = configured(PREFIX + key, value)
    assert getattr(env.get_checkpoint_config(), getter)() == expected


CONTINUOUS_ONLY: list[tuple[str, str, str, Any]] = [
    (PREFIX + "timeout", "2 min", "checkpoint_timeout_ms", 120_000),
    (PREFIX + "tolerable-failed-checkpoints", "7", "tolerable_checkpoint_failures", 7),
    ("pipeline.auto-watermark-interval", "50 ms", "watermark_interval_ms", 50),
    ("penstock.continuous.linger", "1 ms", "linger_ms", 1),
    ("execution.buffer-timeout.interval", "2 ms", "buffer_timeout_ms", 2),
]


@pytest.mark.parametrize(("key", "value", "field", "expected"), CONTINUOUS_ONLY)
def test_what_acts_in_continuous_mode_only_warns_when_a_job_starts_in_micro_batches(
    key: str, value: str, field: str, expected: Any
) -> None:
    env = configured(key, value)  # the mode may be set later, so nothing is said yet
    assert getattr(env._settings(None), field) == expected
    with pytest.warns(UserWarning, match=f"configuration key '{key}' has no effect in micro-batches: .+"):
        warn_of_mode(env._settings(None))
    env.configure(Configuration.from_dict({"penstock.execution.mode": "continuous"}))
    warn_of_mode(env._settings(None))


def test_what_acts_in_continuous_mode_only_can_be_set_by_calls() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.get_config().set_auto_watermark_interval(5)
    env.get_checkpoint_config().set_checkpoint_timeout(6).set_tolerable_checkpoint_failure_number(7)
    settings = env._settings(None)
    assert settings.watermark_interval_ms == 5
    assert (settings.checkpoint_timeout_ms, settings.tolerable_checkpoint_failures) == (6, 7)
    env.get_checkpoint_config().set_fail_on_checkpointing_errors(True)
    assert env._settings(None).tolerable_checkpoint_failures == 0


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, 10),
        ({"execution.buffer-timeout.interval": 2}, 2),
        ({"execution.buffer-timeout": "0 ms"}, 0),
        ({"execution.buffer-timeout.interval": "-1"}, 10),
        ({"execution.buffer-timeout.interval": "2 ms", "penstock.continuous.linger": "10 ms"}, 10),
        ({"execution.buffer-timeout.interval": "2 ms", "penstock.continuous.linger": "0 ms"}, 0),
    ],
)
def test_records_wait_for_the_linger_or_the_buffer_timeout(told: dict[str, Any], expected: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(told))
    assert env._settings(None).send_every_ms == expected


@pytest.mark.parametrize("key", ["penstock.continuous.linger", "execution.buffer-timeout.interval"])
@pytest.mark.parametrize("value", ["-2 ms", -5])
def test_times_are_not_negative(key: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"configuration key '{key}' is .*-.*, but .*negative"):
        configured(key, value)


def test_a_job_in_micro_batches_warns_when_it_starts() -> None:
    env = StreamExecutionEnvironment.in_process()
    env.get_checkpoint_config().set_checkpoint_timeout(1_000)
    env.from_collection([1]).print()
    with pytest.warns(UserWarning, match="timeout' has no effect in micro-batches") as told:
        env.execute()
    assert told[0].filename == __file__


def test_what_has_an_effect_does_not_warn() -> None:
    told = {
        "interval": "2 s",
        "min-pause": "1 s",
        "mode": "at_least_once",
        "dir": "/checkpoints",
        "num-retained": "2",
        "externalized-checkpoint-retention": "DELETE_ON_CANCELLATION",
        "savepoint-dir": "/savepoints",
    }
    configuration = Configuration.from_dict({PREFIX + key: value for key, value in told.items()})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    config, settings = env.get_checkpoint_config(), env._settings(None)
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert (config.get_checkpoint_interval(), config.get_min_pause_between_checkpoints()) == (2_000, 1_000)
    assert (settings.checkpoint_directory, settings.retained_versions) == ("/checkpoints", 2)
    assert settings.deletes_when_cancelled and settings.savepoint_directory == "/savepoints"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("execution.checkpointing.unaligned.enabled", "FALSE"),
        ("execution.checkpointing.tolerable-failed-checkpoints", "0"),
        ("execution.checkpointing.max-concurrent-checkpoints", 1),
        ("execution.checkpointing.incremental", True),
        ("execution.checkpointing.storage", "filesystem"),
        ("execution.state-recovery.claim-mode", "NO_CLAIM"),
        ("restart-strategy.fixed-delay.attempts", 3),
        ("state.backend.rocksdb.localdir", "/fast"),
        ("my.own.key", "anything"),
        ("spark.sql.shuffle.partitions", 3),
    ],
)
def test_asking_for_what_is_so_anyway_and_keys_of_others_do_not_warn(key: str, value: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        configured(key, value)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("execution.checkpointing.incremental", "false", "always contain changes, with a snapshot now and then"),
        ("execution.checkpointing.storage", "jobmanager", "always kept in the checkpoint directory"),
        ("execution.checkpointing.file-merging.enabled", "true", "their own format"),
        ("execution.state-recovery.claim-mode", "CLAIM", "never changed or deleted"),
        ("state.backend.rocksdb.writebuffer.size", "64 mb", "its own settings for RocksDB"),
        ("taskmanager.memory.process.size", "4 gb", "Spark runs the job"),
        ("execution.checkpointing.intervall", "5 s", r"does not know it; did you mean '.*\.interval'\?"),
        ("restart-strategy.fixed-delay.atempts", "5", r"did you mean '.*\.attempts'\?"),
    ],
)
def test_other_keys_without_effect_say_why(key: str, value: str, reason: str) -> None:
    with pytest.warns(UserWarning, match=f"configuration key '{key}' has no effect: .*{reason}"):
        configured(key, value)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("mode", "never", "EXACTLY_ONCE, AT_LEAST_ONCE"),
        ("timeout", "0 s", "longer than 0 ms"),
        ("tolerable-failed-checkpoints", "-1", "0 or more"),
        ("unaligned.enabled", "perhaps", "true or false"),
    ],
)
def test_a_bad_value_is_refused_also_where_it_would_have_no_effect(key: str, value: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'{PREFIX}{key}' is '{value}', but .*{text}"):
        configured(PREFIX + key, value)


def test_the_warning_points_at_the_program() -> None:
    configuration = Configuration.from_dict({"execution.checkpointing.unaligned.enabled": "true"})
    for give in (
        StreamExecutionEnvironment.get_execution_environment,
        StreamExecutionEnvironment.get_execution_environment().configure,
        lambda keys: StreamExecutionEnvironment.in_process(configuration=keys),
    ):
        with pytest.warns(UserWarning, match="unaligned") as warned:
            give(configuration)
        assert warned[0].filename == __file__


@pytest.mark.parametrize("retained", [1, 2])
def test_so_many_versions_are_kept(tmp_path: Path, retained: int) -> None:
    told = {f"{PREFIX}num-retained": retained, f"{PREFIX}dir": str(tmp_path), "penstock.batch.max-records": 2}
    env = StreamExecutionEnvironment.in_process(configuration=Configuration.from_dict(told))
    assert sorted(env.from_collection(range(9)).key_by(lambda n: 0).sum().execute_and_collect())[-1] == 36
    assert len(list(tmp_path.glob("penstock/seals/*.seal"))) == retained
