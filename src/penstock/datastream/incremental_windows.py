"""`reduce` and `aggregate` of windows, written once for all streams that have windows.

Keyed, whole and salted streams differ in the functions that may evaluate a window, which is the type parameter `SORT`,
and in how the operators are made, which is theirs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, overload

from penstock.common.type_variables import SORT, A, R, T_co
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.arguments import check_function, check_type
from penstock.datastream.stream import DataStream
from penstock.vocabulary.functions import AggregateFunction, ReduceFunction
from penstock.vocabulary.window.assigner import W
from penstock.vocabulary.window_evaluation import WindowEvaluation

__all__ = ["IncrementalWindows"]


class IncrementalWindows(ABC, Generic[SORT, T_co, W]):
    """Windows whose elements are combined as they come, so that a window holds one value."""

    _stream: DataStream[T_co]

    @overload
    def reduce(
        self,
        reduce_function: Callable[[T_co, T_co], T_co] | ReduceFunction[T_co],
        window_function: None = None,
        output_type: None = None,
    ) -> DataStream[T_co]: ...

    @overload
    def reduce(
        self,
        reduce_function: Callable[[T_co, T_co], T_co] | ReduceFunction[T_co],
        window_function: WindowEvaluation[T_co, R, SORT, W],
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def reduce(
        self,
        reduce_function: Callable[[T_co, T_co], Any] | ReduceFunction[T_co],
        window_function: WindowEvaluation[T_co, Any, SORT, W] | None = None,
        *,
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    @overload
    def reduce(
        self,
        reduce_function: Callable[[T_co, T_co], Any] | ReduceFunction[T_co],
        window_function: WindowEvaluation[T_co, Any, SORT, W] | None,
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    def reduce(
        self,
        reduce_function: Callable[[T_co, T_co], Any] | ReduceFunction[T_co],
        window_function: WindowEvaluation[T_co, Any, SORT, W] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Combine the elements of a window; a window function is given the one result, with the window."""
        check_function("reduce", reduce_function, ReduceFunction)
        declared = check_type("reduce", "output_type", output_type)
        if declared is None and window_function is None:
            declared = self._stream.output_type
        return self._incremental("reduce", reduce_function, window_function, declared)

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T_co, Any, R],
        window_function: None = None,
        accumulator_type: TypeInformation[Any] | None = None,
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T_co, Any, A],
        window_function: WindowEvaluation[A, R, SORT, W],
        accumulator_type: TypeInformation[Any] | None = None,
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T_co, Any, Any],
        window_function: WindowEvaluation[Any, Any, SORT, W] | None = None,
        accumulator_type: TypeInformation[Any] | None = None,
        *,
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T_co, Any, Any],
        window_function: WindowEvaluation[Any, Any, SORT, W] | None,
        accumulator_type: TypeInformation[Any] | None,
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    def aggregate(
        self,
        aggregate_function: AggregateFunction[T_co, Any, Any],
        window_function: WindowEvaluation[Any, Any, SORT, W] | None = None,
        accumulator_type: TypeInformation[Any] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Gather the elements of a window in an accumulator; a window function is given its one result."""
        check_function("aggregate", aggregate_function, AggregateFunction, takes_callable=False)
        check_type("aggregate", "accumulator_type", accumulator_type)
        declared = check_type("aggregate", "output_type", output_type)
        return self._incremental("aggregate", aggregate_function, window_function, declared)

    @abstractmethod
    def _incremental(
        self, method: str, combine: Any, window_function: Any, output_type: TypeInformation | None
    ) -> DataStream:
        """Add the operators that combine by this function; `method` is the name the user called."""
