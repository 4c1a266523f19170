"""Complex event processing: patterns over event streams, as in Flink's CEP library."""

from __future__ import annotations

from penstock.cep.conditions import (
    IterativeCondition,
    RichIterativeCondition,
    RichSimpleCondition,
    SimpleCondition,
)
from penstock.cep.dynamic_stream import DynamicPatternStream
from penstock.cep.functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from penstock.cep.pattern import GroupPattern, MalformedPatternError, Pattern, WithinType
from penstock.cep.pattern_stream import CEP, PatternStream
from penstock.cep.updates import PatternUpdate
from penstock.runtime.operators.cep.skipping import AfterMatchSkipStrategy

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "DynamicPatternStream",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternError",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "PatternUpdate",
    "RichIterativeCondition",
    "RichSimpleCondition",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "WithinType",
]
