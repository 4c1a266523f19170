"""Settings made by calls on configuration objects, as configuration keys."""

from __future__ import annotations

from typing import Any

from penstock.common.execution_config import ExecutionConfig
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.graph import declared_settings as keys

__all__ = ["told_by_call"]


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
    told[keys.RETENTION] = checkpoints.get_externalized_checkpoint_retention().name
    if config.get_task_cancellation_timeout() != keys.SETTINGS[keys.CANCELLATION_TIMEOUT].default:
        told[keys.CANCELLATION_TIMEOUT] = config.get_task_cancellation_timeout()
    told[keys.AUTO_GENERATED_UIDS] = config.has_auto_generated_uids_enabled()
    told[keys.GENERIC_TYPES] = not config.has_generic_types_disabled()
    if config.get_global_job_parameters():
        told[keys.JOB_PARAMETERS] = config.get_global_job_parameters()
    return told
