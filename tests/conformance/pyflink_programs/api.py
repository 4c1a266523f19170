"""The names of PyFlink or of Penstock behind one object, and the few things that the two do differently to set up."""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any

_MODULES = (
    *("common", "common.time", "common.typeinfo", "common.watermark_strategy", "common.types"),
    *("datastream", "datastream.functions", "datastream.state", "datastream.window", "datastream.output_tag"),
)
# Long enough for PyFlink's next periodic watermark to come before the next element.
_BETWEEN_ELEMENTS_S = 0.1


class Api:
    """`p` of a program: `p.Types`, `p.Row`, `p.KeyedProcessFunction`, ... of the package it was made for."""

    def __init__(self, package: str) -> None:
        self.package = package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        for module in _MODULES:
            found = getattr(importlib.import_module(f"{self.package}.{module}"), name, None)
            if found is not None:
                return found
        raise AttributeError(f"{self.package} has no {name}")

    def __reduce__(self) -> tuple[type[Api], tuple[str]]:
        return Api, (self.package,)

    @property
    def is_pyflink(self) -> bool:
        return self.package == "pyflink"

    def env(self, parallelism: int = 1, **keys: Any) -> Any:
        """A fresh environment; `keys` are configuration keys with underscores for dots."""
        configuration = self.Configuration()
        for key, value in keys.items():
            configuration.set_string(key.replace("__", "-").replace("_", "."), str(value))
        if not self.is_pyflink:
            configuration.set_string("penstock.engine", ENGINE)
            for key, value in SPARK_KEYS.items():
                configuration.set_string(key, value)
        env = self.StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        if self.is_pyflink:
            env.set_python_executable(sys.executable)
        return env

    def timed(self, stream: Any, field: int = 1, out_of_order_ms: int = 0) -> Any:
        """Elements with the time that a field says; event time moves at the end of the input."""
        strategy = self.WatermarkStrategy.for_bounded_out_of_orderness(self.Duration.of_millis(out_of_order_ms))
        return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(self.by_field(field)))

    def events(self, values: list[Any], declared: Any = None, env: Any = None, field: int = 1) -> Any:
        """A stream of tuples with their time in a field; event time moves at the end."""
        return self.timed((env or self.env()).from_collection(values, declared), field)

    def stepwise(self, values: list[Any], declared: Any = None, field: int = 1) -> Any:
        """The same, but event time moves after each element: to a millisecond before the latest."""
        if not self.is_pyflink:
            strategy = self.WatermarkStrategy.for_generator(_per_element(self))
            return (
                self.env()
                .from_collection(values, declared)
                .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(self.by_field(field)))
            )
        env = self.env(python_fn__execution_bundle_size=1)
        env.get_config().set_auto_watermark_interval(1)

        def slowly(value: Any) -> Any:
            threading.Event().wait(_BETWEEN_ELEMENTS_S)
            return value

        # A task of its own that sends each element at once: the next one has time to make its watermark in between.
        env.set_buffer_timeout(0)
        stream = env.from_collection(values, declared)
        slow = stream.map(slowly, declared) if declared else stream.map(slowly)
        return self.timed(slow.disable_chaining(), field)

    def by_field(self, field: int) -> Any:
        class ByField(self.TimestampAssigner):  # type: ignore[name-defined, misc]
            def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
                return int(value[field])

        return ByField()


ENGINE = "in-process"
SPARK_KEYS: dict[str, str] = {}


def use_spark() -> None:
    """Have Penstock's programs run on a Spark of this machine."""
    global ENGINE
    ENGINE = "spark"
    SPARK_KEYS.update({"spark.master": "local[2]", "spark.ui.enabled": "false"})


def _per_element(p: Api) -> Any:
    class PerElement(p.WatermarkGenerator):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            self.latest = -(2**62)

        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
            self.latest = max(self.latest, event_timestamp)
            output.emit_watermark(self.latest - 1)

        def on_periodic_emit(self, output: Any) -> None:
            pass

    return PerElement
