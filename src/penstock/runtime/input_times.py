"""How far event time has got in the inputs of a job, as the operators that make watermarks kept it in the seal.

`TimingOperator.input_time` reads it, on the driver: nothing is measured for it while records flow.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.constants import MIN_WATERMARK

NO_WATERMARKS = "none"
"""What a checkpoint calls the generator of a strategy that makes no watermarks."""


@dataclass(frozen=True)
class SplitTime:
    """One split of an input, such as a Kafka partition; `name` is None where the subtask reads one thing only.

    `last_record_ms` is by the clock of the worker: when the last record came or, if there was none, when the split
    began. `generator` is the kind of the watermark generator, as checkpoints call it.
    """

    name: str | None = None
    watermark: int = MIN_WATERMARK
    is_idle: bool = False
    last_record_ms: int | None = None
    generator: str = ""


@dataclass(frozen=True)
class InputTime:
    """One subtask of an operator that makes watermarks: what it has told, and the splits that this is made of.

    `records` counts those since the driver started; `idle_timeout_ms` is that of the watermark strategy.
    """

    uid: str
    name: str
    subtask: int = 0
    parallelism: int = 1
    watermark: int = MIN_WATERMARK
    is_idle: bool = False
    splits: tuple[SplitTime, ...] = ()
    records: int = 0
    is_source: bool = True
    is_bounded: bool = False
    idle_timeout_ms: int | None = None
