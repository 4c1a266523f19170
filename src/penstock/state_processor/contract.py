"""What the state processor needs of whatever runs its tasks and makes its frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from penstock.savepoint.row_sources import RowSource
from penstock.savepoint.writing import PartResult
from penstock.state_processor.assembling import PartAssembly
from penstock.state_processor.bootstrap import StateBootstrap
from penstock.state_processor.columns import StateColumns
from penstock.state_processor.functions import KeyedStateReaderFunction
from penstock.state_processor.slices import Slice

Order = TypeVar("Order")
Result = TypeVar("Result")


class StateEngine(Protocol):
    """Frames are opaque here."""

    def parallelism(self) -> int:
        """How many parts are worth writing at a time."""

    def run(self, work: Callable[[Order], Result], orders: list[Order]) -> list[Result]:
        """Do the work for each order in a task of its own; results come in the order of the orders."""

    def state_frame(self, columns: StateColumns, parts: list[Slice]) -> Any:
        """A frame of the entries of a state, or of the timers."""

    def function_frame(
        self,
        function: KeyedStateReaderFunction,
        sources: list[RowSource],
        uid: str,
        max_parallelism: int,
        output_type: Any,
    ) -> Any:
        """A frame of what a function gives for each key."""

    def table_frame(self, table: pa.Table) -> Any:
        """A frame of a small table."""

    def is_frame(self, data: Any) -> bool:
        """Whether data are a frame."""

    def table_of(self, frame: Any) -> pa.Table:
        """A small frame as a table."""

    def checked(self, frame: Any, schema: pa.Schema, optional: set[str], method: str) -> Any:
        """A frame with the columns of a schema; refuses one that has not."""

    def assemble(
        self, orders: list[PartAssembly], frames: list[tuple[StateColumns, Any]], max_parallelism: int
    ) -> list[PartResult]:
        """Write the parts of an operator in which the entries of some states are those of frames."""

    def bootstrap(
        self, bootstrap: StateBootstrap, target_uri: str, uid: str, parallelism: int, max_parallelism: int
    ) -> list[PartResult]:
        """Write the parts of an operator that never ran."""
