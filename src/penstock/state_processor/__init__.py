"""State of jobs that are not running: read as DataFrames, changed, and made for jobs that never ran.

Savepoints are `penstock.savepoint`'s, and the tasks are run by the engine.
"""

from __future__ import annotations

from penstock.state_processor.bootstrap import OperatorTransformation
from penstock.state_processor.description import OperatorInfo, StateInfo
from penstock.state_processor.functions import KeyedStateBootstrapFunction, KeyedStateReaderFunction
from penstock.state_processor.reader import SavepointReader
from penstock.state_processor.writer import SavepointWriter

__all__ = [
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "OperatorInfo",
    "OperatorTransformation",
    "SavepointReader",
    "SavepointWriter",
    "StateInfo",
]
