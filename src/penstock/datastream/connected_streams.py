"""`ConnectedStreams`: two streams of any types that one operator reads."""

from __future__ import annotations

from typing import Any, Generic, overload

from penstock.common.type_variables import R, T1_co, T2_co
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.arguments import check_function, check_type
from penstock.datastream.missing_names import HintsAtNames
from penstock.datastream.stream import DataStream, KeyOrField, add_operator
from penstock.errors import GraphError
from penstock.runtime import operators
from penstock.vocabulary.functions import CoFlatMapFunction, CoMapFunction, CoProcessFunction, KeyedCoProcessFunction


class ConnectedStreams(HintsAtNames, Generic[T1_co, T2_co]):
    """Two streams processed by one function with a method for each; they share state if both are keyed."""

    def __init__(self, stream1: DataStream[T1_co], stream2: DataStream[T2_co]) -> None:
        """Made by `DataStream.connect`."""
        if not isinstance(stream2, DataStream):
            raise GraphError(f"connect: expected a DataStream or a BroadcastStream, got {stream2!r}.")
        if stream1.environment is not stream2.environment:
            raise GraphError("connect: the streams belong to different environments; build them in one environment.")
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: KeyOrField[T1_co],
        key_selector2: KeyOrField[T2_co],
        key_type: TypeInformation[Any] | None = None,
    ) -> ConnectedStreams[T1_co, T2_co]:
        """Key both streams; elements with equal keys go to the same subtask."""
        keyed1: DataStream[T1_co] = self.stream1.key_by(key_selector1, key_type)
        keyed2: DataStream[T2_co] = self.stream2.key_by(key_selector2, key_type)
        return ConnectedStreams(keyed1, keyed2)

    @overload
    def map(self, func: CoMapFunction[T1_co, T2_co, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def map(self, func: CoMapFunction[T1_co, T2_co, Any], output_type: TypeInformation[R]) -> DataStream[R]: ...

    def map(
        self, func: CoMapFunction[T1_co, T2_co, Any], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Replace each element by what `map1` or `map2` returns for it."""
        check_function("map", func, CoMapFunction, takes_callable=False)
        return self._then("Co-Map", operators.CoMapOperator(func, self._is_keyed()), "map", output_type)

    @overload
    def flat_map(self, func: CoFlatMapFunction[T1_co, T2_co, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def flat_map(
        self, func: CoFlatMapFunction[T1_co, T2_co, Any], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def flat_map(
        self, func: CoFlatMapFunction[T1_co, T2_co, Any], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Replace each element by any number of elements that `flat_map1` or `flat_map2` gives for it."""
        check_function("flat_map", func, CoFlatMapFunction, takes_callable=False)
        return self._then("Co-Flat Map", operators.CoFlatMapOperator(func, self._is_keyed()), "flat_map", output_type)

    @overload
    def process(
        self,
        func: CoProcessFunction[T1_co, T2_co, R] | KeyedCoProcessFunction[Any, T1_co, T2_co, R],
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def process(
        self,
        func: CoProcessFunction[T1_co, T2_co, Any] | KeyedCoProcessFunction[Any, T1_co, T2_co, Any],
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    def process(
        self,
        func: CoProcessFunction[T1_co, T2_co, Any] | KeyedCoProcessFunction[Any, T1_co, T2_co, Any],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Apply a process function to both streams: any output, side outputs; keyed, also state and timers."""
        if self._is_keyed():
            # Flink runs a CoProcessFunction on keyed streams too, where it may use keyed state.
            if not isinstance(func, CoProcessFunction):
                check_function("process", func, KeyedCoProcessFunction, takes_callable=False)
            return self._then("Keyed Co-Process", operators.KeyedCoProcessOperator(func), "process", output_type)
        if isinstance(func, KeyedCoProcessFunction):
            raise GraphError(
                "process: a KeyedCoProcessFunction needs both streams keyed; call key_by() on each of them, or "
                "key_by(selector1, selector2) on the connected streams."
            )
        check_function("process", func, CoProcessFunction, takes_callable=False)
        return self._then("Co-Process", operators.CoProcessOperator(func), "process", output_type)

    def _is_keyed(self) -> bool:
        return self.stream1.is_keyed and self.stream2.is_keyed

    def _then(self, name: str, operator: Any, method: str, output_type: TypeInformation | None) -> DataStream:
        edges = self.stream1.edges_into(0) + self.stream2.edges_into(1)
        declared = check_type(method, "output_type", output_type)
        return add_operator(self.stream1.environment, name, operator, edges, declared)
