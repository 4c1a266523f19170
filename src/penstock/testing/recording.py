"""Recording what leaves a pipeline: records with timestamps and watermarks, with the batch they came in.

The transcript compares it with the expected output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.watermark_strategy import Watermark, WatermarkStrategy
from penstock.datastream.stream import DataStream
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.runtime.operators import StreamOperator
from penstock.runtime.rows import Timestamps
from penstock.testing.collecting import CollectSink
from penstock.testing.script import Element, ScriptedSource
from penstock.testing.transcripts import Heard, Transcript


@dataclass(frozen=True)
class Recorded:
    """One record or watermark, the branch and output it left, and the number of the batch."""

    branch: int
    tag: str | None
    batch: int
    item: Element | Watermark


class RecordingOperator(StreamOperator):
    """Turns everything that reaches it into records for a collecting sink."""

    def __init__(self, branch: int, tag: str | None) -> None:
        self._branch = branch
        self._tag = tag
        self._batch = -1

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Note the number of the batch."""
        self._batch = version

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Record each record."""
        stamps = timestamps if timestamps is not None else [None] * len(values)
        self._record([Element(value, stamp) for value, stamp in zip(values, stamps, strict=True)])

    def on_watermark(self, watermark: int) -> None:
        """Record the watermark, then pass it on."""
        self._record([Watermark(watermark)])
        super().on_watermark(watermark)

    def _record(self, items: list[Any]) -> None:
        self.output.emit([Recorded(self._branch, self._tag, self._batch, item) for item in items], None)


def source_names(transcript: Transcript, branch: int) -> list[str]:
    """Names of the sources of a branch, one for each input."""
    return [f"transcript {branch}", *(f"transcript {branch} input {index}" for index in range(1, transcript.inputs))]


def source_streams(
    environment: StreamExecutionEnvironment, transcript: Transcript, branch: int = 0
) -> list[DataStream]:
    """The streams that a transcript's pipeline takes, from sources that follow its script."""
    strategy = WatermarkStrategy.no_watermarks()
    return [
        environment.from_source(ScriptedSource(*transcript.scripts(index)), strategy, name)
        for index, name in enumerate(source_names(transcript, branch))
    ]


def build_branch(
    environment: StreamExecutionEnvironment, transcript: Transcript, branch: int, sink: CollectSink
) -> None:
    """Add the pipeline of a transcript to a program: its sources in front, recorders behind."""
    result = transcript.pipeline(*source_streams(environment, transcript, branch))
    _record(result, branch, None).add_sink(sink)
    for tag in transcript.tags():
        _record(result.get_side_output(tag), branch, tag.tag_id).add_sink(sink)


def _record(stream: DataStream, branch: int, tag: str | None) -> DataStream:
    """A recorder behind a stream: a map by its place in the graph, another operator by what it does."""
    recorded = stream.map(_itself).name(f"recorder {branch} {tag or 'main'}")
    graph = stream.get_execution_environment().graph
    graph.change(max(graph.nodes), operator=RecordingOperator(branch, tag))
    return recorded


def _itself(value: Any) -> Any:
    return value


def heard_by_step(transcript: Transcript, branch: int, recorded: list[Recorded]) -> list[Heard]:
    """What was recorded of a branch, by step, if every batch took what lies between two cuts."""
    steps = [number for number, _ in transcript.batches()]
    heard = [Heard() for _ in transcript.steps]
    for each in recorded:
        if each.branch == branch:
            heard[steps[min(each.batch, len(steps) - 1)]].add(each.tag, each.item)
    return heard
