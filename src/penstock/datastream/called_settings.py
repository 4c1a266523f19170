"""Settings made by calls on configuration objects, as configuration keys, and the other way round."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from penstock.common.execution_config import ExecutionConfig
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.graph import declared_settings as keys
from penstock.graph.settings import JobSettings

__all__ = ["take_over_keys", "told_by_call"]


def told_by_call(
    config: ExecutionConfig, checkpoints: CheckpointConfig, local_parallelism: int | None
) -> dict[str, Any]:
    """Settings held by the configuration objects, by key."""
    told: dict[str, Any] = {}
    if config.get_parallelism() > 0:
        told[keys.PARALLELISM] = config.get_parallelism()
    elif local_parallelism is not None:
        told[keys.PARALLELISM] = local_parallelism
    if config.get_max_parallelism() > 0:
        told[keys.MAX_PARALLELISM] = config.get_max_parallelism()
    told[keys.OBJECT_REUSE] = config.is_object_reuse_enabled()
    if checkpoints.is_checkpointing_enabled():
        told[keys.CHECKPOINT_INTERVAL] = checkpoints.get_checkpoint_interval()
    told[keys.MIN_PAUSE] = checkpoints.get_min_pause_between_checkpoints()
    told[keys.CHECKPOINT_MODE] = checkpoints.get_checkpointing_mode().name
    told[keys.CHECKPOINT_TIMEOUT] = checkpoints.get_checkpoint_timeout()
    told[keys.TOLERABLE_FAILURES] = checkpoints.get_tolerable_checkpoint_failure_number()
    told[keys.RETENTION] = checkpoints.get_externalized_checkpoint_retention().name
    if config.get_task_cancellation_timeout() != keys.SETTINGS[keys.CANCELLATION_TIMEOUT].default:
        told[keys.CANCELLATION_TIMEOUT] = config.get_task_cancellation_timeout()
    if config.get_auto_watermark_interval() != keys.SETTINGS[keys.WATERMARK_INTERVAL].default:
        told[keys.WATERMARK_INTERVAL] = config.get_auto_watermark_interval()
    told[keys.AUTO_GENERATED_UIDS] = config.has_auto_generated_uids_enabled()
    told[keys.GENERIC_TYPES] = not config.has_generic_types_disabled()
    if config.get_global_job_parameters():
        told[keys.JOB_PARAMETERS] = config.get_global_job_parameters()
    return told


def take_over_keys(config: ExecutionConfig, told: AbstractSet[str], read: JobSettings) -> None:
    """Copy settings given as configuration keys to the object that has setters for them."""
    if keys.PARALLELISM in told:
        config.set_parallelism(read.parallelism)
    if read.max_parallelism is not None:
        config.set_max_parallelism(read.max_parallelism)
    if keys.OBJECT_REUSE in told:
        config.set_object_reuse(read.object_reuse)
    if keys.WATERMARK_INTERVAL in told:
        config.set_auto_watermark_interval(read.watermark_interval_ms)
    if keys.AUTO_GENERATED_UIDS in told and not read.auto_generated_uids:
        config.disable_auto_generated_uids()
    if keys.GENERIC_TYPES in told and not read.generic_types:
        config.disable_generic_types()
    if read.job_parameters:
        config.set_global_job_parameters(read.job_parameters)
