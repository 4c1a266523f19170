"""A text, bytes, dict or Row that is returned where results are meant is refused, not taken apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.cep import CEP, Pattern
from penstock.cep.functions import PatternProcessFunction
from penstock.common.types import Row
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import (
    AllWindowFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from penstock.datastream.state import MapStateDescriptor
from penstock.errors import JobFailedError, StreamsError
from penstock.runtime.operators.kstreams.stateless import StreamFlatMap, StreamFlatMapValues
from penstock.vocabulary.kstreams.records import Record

RECORDS: list[tuple[Any, str]] = [
    ("AB", "text 'AB'"),
    (b"AB", "bytes b'AB'"),
    ({"a": 1}, "dict {'a': 1}"),
    (Row(1, 2), "Row <Row(1, 2)>"),
]


def _class_with(base: type, method: str, *others: str) -> Callable[[Any], Any]:
    def made(result: Any) -> Any:
        names = {name: lambda self, *given: None for name in others}
        return type("Own", (base,), {method: lambda self, *given: result, **names})()

    return made


FORMS: dict[str, Callable[[DataStream, Any], DataStream]] = {
    "flat_map": lambda s, r: s.flat_map(lambda value: r),
    "process_element": lambda s, r: s.process(_class_with(ProcessFunction, "process_element")(r)),
    "keyed process_element": lambda s, r: s.key_by(str).process(
        _class_with(KeyedProcessFunction, "process_element")(r)
    ),
    "process_element1": lambda s, r: s.connect(s).process(
        _class_with(CoProcessFunction, "process_element1", "process_element2")(r)
    ),
    "flat_map1": lambda s, r: s.connect(s).flat_map(_class_with(CoFlatMapFunction, "flat_map1", "flat_map2")(r)),
    "process_broadcast_element": lambda s, r: s.connect(s.broadcast(MapStateDescriptor("m", None, None))).process(
        _class_with(BroadcastProcessFunction, "process_broadcast_element", "process_element")(r)
    ),
    "flat_map_with_state": lambda s, r: s.key_by(str).flat_map_with_state(lambda value, state: (r, 1)),
    "apply": lambda s, r: s.count_window_all(1).apply(_class_with(AllWindowFunction, "apply")(r)),
    "process": lambda s, r: s.key_by(str).count_window(1).process(_class_with(ProcessWindowFunction, "process")(r)),
    "process_match": lambda s, r: (
        CEP.pattern(s, Pattern.begin("a"))
        .in_processing_time()
        .process(_class_with(PatternProcessFunction, "process_match")(r))
    ),
}


@pytest.mark.parametrize(("result", "shown"), RECORDS, ids=lambda given: type(given).__name__)
@pytest.mark.parametrize("form", FORMS)
def test_one_record_is_not_taken_apart(form: str, result: Any, shown: str) -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    FORMS[form](environment.from_collection(["x"]), result).print()
    method = form.rpartition(" ")[2]
    with pytest.raises(JobFailedError) as failure:
        environment.execute()
    assert f"{method} returned the {shown}, which would be taken apart; yield it, or return a list of results" in str(
        failure.value
    )


@pytest.mark.parametrize(("kind", "method"), [(StreamFlatMap, "flat_map"), (StreamFlatMapValues, "flat_map_values")])
def test_kafka_streams_does_the_same(kind: Any, method: str) -> None:
    with pytest.raises(StreamsError, match=rf"{method} returned the text 'AB', which would be taken apart"):
        kind(lambda *given: "AB").process(Record("k", "v", 1, ()))
