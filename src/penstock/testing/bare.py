"""Playing transcripts on the bare operator, in a harness; what is a job is played in `penstock.testing.players`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.constants import MIN_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.graph.nodes import Node
from penstock.testing.harness import KeyedAccess, KeyedHarness, OperatorHarness, StreamRecord
from penstock.testing.recording import source_streams
from penstock.testing.script import Clock, Element, Idle
from penstock.testing.transcripts import MAIN, End, Heard, Lane, Left, Transcript, compare_all_left, compare_steps
from penstock.testing.two_input_harness import KeyedTwoInputHarness, TwoInputHarness

Harness = OperatorHarness | TwoInputHarness


def is_one_operator(transcript: Transcript) -> bool:
    """Whether the pipeline is a single operator with an input for each stream, so that it can be played bare."""
    return _operator(transcript) is not None


def play_bare(transcript: Transcript, *, restores: bool = False) -> None:
    """Play on the operator alone, in a harness; with `restores`, a fresh copy takes over after each step."""
    operator = _operator(transcript)
    if operator is None:
        reason = transcript.job_only or "it does not test a single operator"
        raise ValueError(f"transcript {transcript.name!r}: {reason}; play it in process")
    level = "bare operator, restored after each step" if restores else "bare operator"
    player = _BarePlayer(transcript, *operator)
    left = {}
    for number, items in transcript.batches():
        player.play(number, items)
        if restores:
            player.restore()
        left[number] = player.left()
    player.close()
    compare_steps(transcript, level, player.heard)
    compare_all_left(transcript, level, left)


def _operator(transcript: Transcript) -> tuple[Node, list[int]] | None:
    """The only operator and, for each stream of the transcript, the input it goes to; None if it is not so simple."""
    if transcript.job_only:
        return None
    environment = StreamExecutionEnvironment.in_process()
    streams = source_streams(environment, transcript)
    sources = list(environment.graph.nodes)
    transcript.pipeline(*streams)
    nodes = [node for node in environment.graph.nodes.values() if node.id not in sources]
    if len(nodes) != 1 or len(transcript.lanes()) != transcript.inputs:
        return None
    reading = {edge.source_id: edge.input_index for edge in nodes[0].inputs}
    is_simple = len(nodes[0].inputs) == len(set(reading.values())) == len(reading) == transcript.inputs
    return (nodes[0], [reading[source] for source in sources]) if is_simple else None


class _Feeder:
    """One input of a harness, fed the items of a transcript."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._is_idle = False
        self._watermark = MIN_WATERMARK

    def feed(self, harness: Harness, item: Any) -> None:
        """Feed one item."""
        if isinstance(item, Watermark):
            self._advance(harness, item.timestamp)
        elif isinstance(item, Clock):
            harness.set_processing_time(item.now_ms)
        elif isinstance(item, End):
            self._method(harness, "end_input")()
        elif isinstance(item, Idle):
            self._mark(harness, True)
        else:
            element = item if isinstance(item, Element) else Element(item)
            self._mark(harness, False)  # as a source does before its next record or watermark
            self._method(harness, "process_element")(element.value, element.timestamp)

    def _advance(self, harness: Harness, watermark: int) -> None:
        if watermark > self._watermark:
            self._watermark = watermark
            self._mark(harness, False)
            self._method(harness, "process_watermark")(watermark)

    def _mark(self, harness: Harness, is_idle: bool) -> None:
        if is_idle != self._is_idle:
            self._is_idle = is_idle
            self._method(harness, "idle" if isinstance(harness, TwoInputHarness) else "process_idle")(is_idle)

    def _method(self, harness: Harness, name: str) -> Callable[..., None]:
        """The method of the harness for this input: they are numbered where there are two."""
        number = str(self._index + 1) if isinstance(harness, TwoInputHarness) else ""
        method: Callable[..., None] = getattr(harness, name + number)
        return method


class _BarePlayer:
    """A harness that is fed a transcript; `reading` has the operator's input for each stream of the transcript."""

    def __init__(self, transcript: Transcript, node: Node, reading: list[int]) -> None:
        self.heard = [Heard() for _ in transcript.steps]
        self._transcript = transcript
        self._node = node
        self._feeders = [_Feeder(index) for index in reading]
        self._open = set(range(len(reading)))
        self._harness = self._create(0).open()

    def _create(self, now_ms: int) -> Harness:
        settings: dict[str, Any] = {"side_outputs": self._transcript.tags(), "processing_time": now_ms}
        operator = self._node.operator
        keys: dict[int, Any] = {edge.input_index: edge.partitioning.key_selector for edge in self._node.inputs}
        if len(keys) == 2:
            two_inputs = KeyedTwoInputHarness if operator.is_keyed else TwoInputHarness
            return two_inputs(operator, key1=keys[0], key2=keys[1], **settings)
        one_input = KeyedHarness if operator.is_keyed else OperatorHarness
        return one_input(operator, key=keys[0], **settings)

    def play(self, step: int, batch: dict[Lane, list[Any]]) -> None:
        """Feed the items of one batch, end it, and take what came out."""
        ends_all = End() in batch[MAIN]
        for (stream, _), items in batch.items():
            for item in items:
                if item != End():
                    self._feeders[stream].feed(self._harness, item)
        # In a job an end is behind all data of its batch; inputs that do not say when they end do so with the first.
        for (stream, _), items in batch.items():
            if stream in self._open and (ends_all or End() in items):
                self._open.remove(stream)
                self._feeders[stream].feed(self._harness, End())
        self._hear(self.heard[step])

    def _hear(self, heard: Heard) -> None:
        self._snapshot = self._harness.snapshot()
        for out in self._harness.output_with_watermarks():
            heard.add(None, Element(out.value, out.timestamp) if isinstance(out, StreamRecord) else out)
        for tag in self._transcript.tags():
            for record in self._harness.side_output(tag):
                heard.add(tag.tag_id, Element(record.value, record.timestamp))
        self._harness.clear_output()

    def restore(self) -> None:
        """Go on with a copy that has nothing but the snapshot."""
        self.close()
        fresh = self._create(self._harness.clock())
        fresh.restore(self._snapshot)
        self._harness = fresh.open()

    def left(self) -> Left:
        """What is in the store now."""
        harness = self._harness
        if not isinstance(harness, KeyedAccess):
            return Left()
        return Left(
            harness.num_event_time_timers(), harness.num_processing_time_timers(), harness.num_keyed_state_entries()
        )

    def close(self) -> None:
        """Close the harness."""
        self._harness.close()
