"""Sources of the environment, what an execution takes with it, and collecting results; the engine is a stand-in."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import cloudpickle
import pytest

from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.driver_sinks import CollectSink
from penstock.connectors.frame_source import FrameSource
from penstock.connectors.generated.collection import CollectionSource
from penstock.connectors.generated.sequence import NumberSequence
from penstock.datastream.data_stream import CloseableIterator
from penstock.datastream.functions import SourceFunction
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import ConfigurationError, GraphError, JobFailedError
from penstock.graph.declared_settings import JOB_NAME, SETTINGS
from penstock.graph.nodes import LogicalGraph, Node
from penstock.graph.settings import JobSettings


class Job:
    """A job of the stand-in engine."""

    def __init__(self, graph: LogicalGraph, settings: JobSettings) -> None:
        self.graph, self.settings = graph, settings
        self.values: list[Any] = [1, 2, 3]
        self.failure: Exception | None = None
        self.is_cancelled = False

    def names(self) -> list[str]:
        return [node.name for node in self.graph.nodes.values()]

    def wait(self) -> str:
        return "result"

    def collected(self, collect_id: str) -> Iterator[Any]:
        sinks = [getattr(node.operator, "description", None) for node in self.graph.nodes.values()]
        assert CollectSink(collect_id) in sinks
        yield from self.values
        if self.failure is not None:
            raise self.failure

    def cancel(self) -> Future[None]:
        self.is_cancelled = True
        done: Future[None] = Future()
        done.set_result(None)
        return done


class Engine:
    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.refusal: Exception | None = None

    def submit(self, graph: LogicalGraph, settings: JobSettings) -> Job:
        if self.refusal is not None:
            raise self.refusal
        self.jobs.append(Job(graph, settings))
        return self.jobs[-1]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine()
    module = types.ModuleType("penstock.engine.spark.engine")
    module.submit = engine.submit  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "penstock.engine.spark.engine", module)
    return engine


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def only(env: StreamExecutionEnvironment) -> Node:
    (node,) = env.graph.nodes.values()
    return node


# ---- sources ----


def test_a_collection_is_a_single_source_of_converted_values(env: StreamExecutionEnvironment) -> None:
    env.from_collection((value for value in (1, True, 2.0)), Types.INT())
    node = only(env)
    assert isinstance(node.operator.source, CollectionSource)
    assert list(map(repr, node.operator.source.values)) == ["1", "1", "2"]
    assert (node.is_single, node.output_type, node.operator.strategy) == (True, Types.INT(), None)


def test_a_value_that_is_not_of_the_declared_type_is_named(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(GraphError, match="from_collection: element 1, 'x', is not of INT"):
        env.from_collection([1, "x"], Types.INT())
    with pytest.raises(GraphError, match=r"element 1, 2147483648, is not of INT: .* 32 bits cannot hold: declare LONG"):
        env.from_collection([1, 2**31], Types.INT())


def test_a_sequence_is_parallel(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(3, 9)
    node = only(env)
    assert isinstance(node.operator.source, NumberSequence)
    assert (node.operator.source.start, node.operator.source.end_inclusive, node.is_single) == (3, 9, False)
    with pytest.raises(ConfigurationError, match="must not start"):
        env.from_sequence(2, 1)


def test_from_source_keeps_strategy_name_and_type(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    env.from_source(NumberSequence(0, 1), strategy, "numbers", Types.LONG())
    node = only(env)
    assert (node.name, node.operator.strategy, node.output_type) == ("Source: numbers", strategy, Types.LONG())


def test_add_source_takes_sources(env: StreamExecutionEnvironment) -> None:
    assert env.add_source(NumberSequence(0, 1)).get_name() == "Custom Source"


def test_text_files(env: StreamExecutionEnvironment) -> None:
    env.read_text_file("lines.txt")
    node = only(env)
    assert isinstance(node.operator.source, FrameSource)
    assert (node.operator.source.is_bounded(), node.operator.source.row_format) == (True, "value")


class Frame:
    """Looks like a Spark DataFrame as far as the environment looks."""

    def __init__(self, is_streaming: bool) -> None:
        self.isStreaming = is_streaming

    def __reduce__(self) -> Any:
        raise TypeError("a DataFrame does not travel")


def test_spark_frames_are_taken_as_such_or_by_a_function(env: StreamExecutionEnvironment) -> None:
    frame = Frame(is_streaming=True)
    env.from_spark(frame, name="rates", row_format="dict", bounded=True)
    source = only(env).operator.source
    assert (source.make_frame(None) is frame, source.row_format, source.is_bounded()) == (True, "dict", True)
    assert only(env).name == "Source: rates"
    cloudpickle.loads(cloudpickle.dumps(source))
    env.close()
    env.from_spark(lambda session: ("frame of", session))
    assert only(env).operator.source.make_frame("session") == ("frame of", "session")


class Loop(SourceFunction):
    def run(self, ctx: Any) -> None:
        ctx.collect(1)

    def cancel(self) -> None:
        pass


class Builder:
    def build(self) -> None:
        pass


MISTAKES: list[tuple[str, tuple[Any, ...], str]] = [
    ("from_collection", (5,), "from_collection: expected a list or another iterable, got 5"),
    ("from_collection", ([], int), "from_collection: type_info is of unknown type"),
    ("from_source", ([1], None, "n"), "from_source: expected a Source"),
    ("from_source", (Builder(), None, "n"), r"call .build\(\) on it first"),
    ("from_source", (NumberSequence(0, 1), "monotonous", "n"), "from_source: expected a WatermarkStrategy"),
    ("from_source", (NumberSequence(0, 1), None, ""), "from_source: expected a non-empty string"),
    ("from_source", (NumberSequence(0, 1), None, "n", int), "from_source: type_info is of unknown type"),
    ("add_source", (Loop(),), "a SourceFunction cannot be read again after a failure"),
    ("add_source", (5,), "add_source: expected a Source"),
    ("read_text_file", ("",), "read_text_file: expected a non-empty string"),
    ("from_spark", (Frame(is_streaming=False),), "not streaming; make it with spark.readStream"),
    ("from_spark", (5,), "from_spark: expected a streaming DataFrame or a function"),
    ("execute", (), "nothing to execute"),
    ("explain", (), "nothing to execute"),
]


@pytest.mark.parametrize(("method", "arguments", "text"), MISTAKES, ids=[text for _, _, text in MISTAKES])
def test_mistakes_are_refused_at_the_call(
    env: StreamExecutionEnvironment, engine: Engine, method: str, arguments: tuple[Any, ...], text: str
) -> None:
    with pytest.raises(GraphError, match=text):
        getattr(env, method)(*arguments)
    assert env.graph.nodes == {}


# ---- execution ----


def test_execute_hands_over_graph_and_settings_and_waits(env: StreamExecutionEnvironment, engine: Engine) -> None:
    env.set_parallelism(2).from_collection([1]).map(str).print()
    assert env.execute("my job") == "result"  # type: ignore[comparison-overlap]
    (job,) = engine.jobs
    assert job.names() == ["Source: Collection Source", "Map", "Sink: Print to Std. Out"]
    assert (job.settings.job_name, job.settings.parallelism) == ("my job", 2)


def test_execution_takes_only_what_was_added_since_the_last_with_what_feeds_it(
    env: StreamExecutionEnvironment, engine: Engine
) -> None:
    numbers = env.from_collection([1])
    env.from_sequence(0, 1)  # feeds nothing
    texts = numbers.map(str)
    texts.print().name("first")
    env.execute()
    texts.filter(bool).print().name("second")
    env.execute()
    assert engine.jobs[0].names() == ["Source: Collection Source", "Map", "Sink: first"]
    assert engine.jobs[1].names() == ["Source: Collection Source", "Map", "Filter", "Sink: second"]
    assert engine.jobs[1].settings.job_name == SETTINGS[JOB_NAME].default
    with pytest.raises(GraphError, match="nothing to execute"):
        env.execute()


def test_a_refused_job_can_be_executed_again(env: StreamExecutionEnvironment, engine: Engine) -> None:
    env.from_collection([1]).print()
    engine.refusal = ConfigurationError("no master")
    with pytest.raises(ConfigurationError, match="no master"):
        env.execute()
    engine.refusal = None
    env.execute()
    assert len(engine.jobs) == 1


def test_a_blank_job_name_is_refused(env: StreamExecutionEnvironment, engine: Engine) -> None:
    env.from_collection([1]).print()
    with pytest.raises(GraphError, match="execute: expected a non-empty string"):
        env.execute(" ")


def test_explain_describes_and_does_not_consume(env: StreamExecutionEnvironment, engine: Engine) -> None:
    env.from_collection([1]).map(str).name("texts").key_by(len).reduce(max).uid("largest").print()
    text = env.explain()
    assert "texts" in text and "largest" in text and "keyed" in text
    env.execute()


def test_the_execution_plan_is_flinks_json(env: StreamExecutionEnvironment, engine: Engine) -> None:
    env.set_parallelism(2)
    source = env.from_collection([(1, "a")])
    mapped = source.map(str).name("mine").set_parallelism(3).set_description("at length")
    mapped.key_by(len).reduce(max).rebalance().print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert nodes[0] == {
        "id": 1,
        "type": "Source: Collection Source",
        "pact": "Data Source",
        "contents": "Source: Collection Source",
        "parallelism": 1,
    }
    assert [(node["type"], node["contents"], node["parallelism"]) for node in nodes[1:]] == [
        ("mine", "at length", 3),
        ("Reduce", "Reduce", 2),
        ("Sink: Print to Std. Out", "Sink: Print to Std. Out", 2),
    ]
    ways = [node["predecessors"][0] for node in nodes[1:]]
    assert [(way["id"], way["ship_strategy"]) for way in ways] == [(1, "REBALANCE"), (2, "HASH"), (3, "REBALANCE")]
    assert nodes[3]["pact"] == "Data Sink"
    env.execute()


def test_close_forgets_the_program(env: StreamExecutionEnvironment, engine: Engine) -> None:
    env.from_collection([1]).print()
    env.close()
    with pytest.raises(GraphError, match="nothing to execute"):
        env.execute()


# ---- collecting ----


def test_collecting_to_the_end_does_not_cancel(env: StreamExecutionEnvironment, engine: Engine) -> None:
    with env.from_collection([1]).execute_and_collect("collecting") as values:
        assert isinstance(values, CloseableIterator)
        assert list(values) == [1, 2, 3]
    assert (engine.jobs[0].settings.job_name, engine.jobs[0].is_cancelled) == ("collecting", False)


def test_closing_early_cancels_the_job_once_and_ends_the_iteration(
    env: StreamExecutionEnvironment, engine: Engine
) -> None:
    values = env.from_collection([1]).execute_and_collect()
    assert isinstance(values, CloseableIterator)
    assert values.next() == 1
    values.close()
    assert engine.jobs[0].is_cancelled
    engine.jobs[0].is_cancelled = False
    values.close()
    assert not engine.jobs[0].is_cancelled
    with pytest.raises(StopIteration):
        values.next()


def test_a_limit_gives_a_list(env: StreamExecutionEnvironment, engine: Engine) -> None:
    assert env.from_collection([1]).execute_and_collect(limit=2) == [1, 2]
    assert engine.jobs[0].is_cancelled
    assert env.from_collection([1]).execute_and_collect(limit=9) == [1, 2, 3]
    assert not engine.jobs[1].is_cancelled


def test_the_jobs_failure_reaches_the_reader_and_nothing_is_cancelled(
    env: StreamExecutionEnvironment, engine: Engine
) -> None:
    values = env.from_collection([1]).execute_and_collect()
    engine.jobs[0].failure = JobFailedError("user code said no")
    with pytest.raises(JobFailedError, match="user code said no"), values:  # type: ignore[union-attr]
        list(values)
    assert not engine.jobs[0].is_cancelled


def test_a_keyed_stream_is_collected_with_its_keys(env: StreamExecutionEnvironment, engine: Engine) -> None:
    env.from_collection([1]).key_by(lambda value: -value).execute_and_collect()
    (job,) = engine.jobs
    assert job.names() == ["Source: Collection Source", "Key and Value", "Sink: Collect"]
    assert job.graph.nodes[2].operator.function(4) == Row(f0=-4, f1=4)


def test_a_collecting_job_that_cannot_start_leaves_nothing_behind(
    env: StreamExecutionEnvironment, engine: Engine
) -> None:
    stream = env.from_collection([1])
    engine.refusal = ConfigurationError("no master")
    with pytest.raises(ConfigurationError):
        stream.key_by(str).execute_and_collect()
    engine.refusal = None
    stream.print()
    env.execute()
    assert engine.jobs[0].names() == ["Source: Collection Source", "Sink: Print to Std. Out"]


def test_two_collections_of_one_stream_have_ends_of_their_own(env: StreamExecutionEnvironment, engine: Engine) -> None:
    stream = env.from_collection([1])
    for _ in range(2):
        stream.execute_and_collect(limit=1)
    assert [len(job.graph.nodes) for job in engine.jobs] == [2, 2]
