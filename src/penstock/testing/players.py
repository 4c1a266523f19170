"""Playing transcripts: on the bare operator, in process step by step and at random, and many in one job on any engine.

Owns how a transcript is fed and what came out is gathered; knows nothing of Spark: it is handed an environment.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from typing import Any

from penstock.checkpoint import CheckpointDirectory
from penstock.common.watermark_strategy import Watermark, WatermarkStrategy
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.graph import JobSettings, compile_plan
from penstock.graph.nodes import Node
from penstock.testing.collecting import CollectSink
from penstock.testing.harness import KeyedHarness, OperatorHarness, StreamRecord
from penstock.testing.in_process import InProcessJobClient
from penstock.testing.leftovers import left_of_branch
from penstock.testing.recording import build_branch, heard_by_step, source_name
from penstock.testing.script import Clock, Element, Idle, ScriptedSource
from penstock.testing.transcripts import (
    End,
    Heard,
    Left,
    Transcript,
    TranscriptMismatch,
    compare_left,
    compare_steps,
    compare_whole,
)

_CRASH_RATE = 0.03


# ---- the bare operator ----


def is_one_operator(transcript: Transcript) -> bool:
    """Whether the pipeline is a single operator with one input, so that it can be played bare."""
    return transcript.split_count() == 1 and len(_nodes(transcript)) == 1


def play_bare(transcript: Transcript, *, restores: bool = False) -> None:
    """Play on the operator alone, in a harness; with `restores`, a fresh copy takes over after each step."""
    if not is_one_operator(transcript):
        raise ValueError(f"transcript {transcript.name!r} is not about one operator: play it in process")
    level = "bare operator, restored after each step" if restores else "bare operator"
    player = _BarePlayer(transcript)
    left = {}
    for number, (items,) in transcript.batches():
        player.play(number, items)
        if restores:
            player.restore()
        left[number] = player.left()
    player.close()
    compare_steps(transcript, level, player.heard)
    _compare_all_left(transcript, level, left)


def _nodes(transcript: Transcript) -> list[Node]:
    environment = StreamExecutionEnvironment.in_process()
    source = ScriptedSource(*transcript.scripts())
    stream = environment.from_source(source, WatermarkStrategy.no_watermarks(), "source")
    known = set(environment.graph.nodes)
    transcript.pipeline(stream)
    return [node for node in environment.graph.nodes.values() if node.id not in known]


class _BarePlayer:
    """A harness that is fed a transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self.heard = [Heard() for _ in transcript.steps]
        self._transcript = transcript
        self._node = _nodes(transcript)[0]
        self._is_idle = False
        self._harness = self._create(0).open()

    def _create(self, now_ms: int) -> OperatorHarness:
        settings: dict[str, Any] = {"side_outputs": self._transcript.tags(), "processing_time": now_ms}
        key = self._node.inputs[0].partitioning.key_selector
        operator = self._node.operator
        return OperatorHarness(operator, **settings) if key is None else KeyedHarness(operator, key=key, **settings)

    def play(self, step: int, items: Sequence[Any]) -> None:
        """Feed the items of one batch, end it, and take what came out."""
        for item in items:
            self._feed(item)
        self._snapshot = self._harness.snapshot()
        heard = self.heard[step]
        for out in self._harness.output_with_watermarks():
            heard.add(None, Element(out.value, out.timestamp) if isinstance(out, StreamRecord) else out)
        for tag in self._transcript.tags():
            for record in self._harness.side_output(tag):
                heard.add(tag.tag_id, Element(record.value, record.timestamp))
        self._harness.clear_output()

    def _feed(self, item: Any) -> None:
        if isinstance(item, Watermark):
            self._harness.process_watermark(item)
        elif isinstance(item, Clock):
            self._harness.set_processing_time(item.now_ms)
        elif isinstance(item, End):
            self._harness.end_input()
        elif isinstance(item, Idle):
            self._mark(True)
        else:
            element = item if isinstance(item, Element) else Element(item)
            self._mark(False)  # as a source does before its next record
            self._harness.process_element(element.value, element.timestamp)

    def _mark(self, is_idle: bool) -> None:
        if is_idle != self._is_idle:
            self._is_idle = is_idle
            self._harness.process_idle(is_idle)

    def restore(self) -> None:
        """Go on with a copy that has nothing but the snapshot."""
        self.close()
        fresh = self._create(self._harness.clock())
        fresh.restore(self._snapshot)
        self._harness = fresh.open()

    def left(self) -> Left:
        """What is in the store now."""
        harness = self._harness
        if not isinstance(harness, KeyedHarness) or not self._node.operator.is_keyed:
            return Left()
        return Left(
            harness.num_event_time_timers(), harness.num_processing_time_timers(), harness.num_keyed_state_entries()
        )

    def close(self) -> None:
        """Close the harness."""
        self._harness.close()


# ---- in process ----


def play_in_process(transcript: Transcript) -> None:
    """Play as a job in process, one subtask for each operator, one batch for each step."""
    level = "in process"
    environment, sink = _program(transcript, StreamExecutionEnvironment.in_process(), 1)
    client = environment.execute_async("transcript")
    assert isinstance(client, InProcessJobClient)
    left = {}
    for number, _ in transcript.batches():
        client.run_batch()
        left[number] = left_of_branch(client.job.directory, client.job.plan, source_name(0))
    if client.run_batch():
        raise TranscriptMismatch(f"transcript {transcript.name!r}, {level}: the job goes on after the last step")
    client.cancel()
    compare_steps(transcript, level, heard_by_step(transcript, 0, sink.results))
    _compare_all_left(transcript, level, left)


def play_with_seed(transcript: Transcript, seed: int) -> None:
    """Play in process with random parallelism, batches, interleaving and crashes: all in all the same must come out."""
    if transcript.stepwise_only:
        raise ValueError(f"transcript {transcript.name!r} can only be played step by step: {transcript.stepwise_only}")
    parallelism = random.Random(seed).choice((1, 1, 2, 3))
    level = f"in process with seed {seed} and parallelism {parallelism}"
    seeded = StreamExecutionEnvironment.in_process(seed, crash_rate=_CRASH_RATE)
    environment, sink = _program(transcript, seeded, parallelism)
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:  # a job removes only what is its own
        environment.get_checkpoint_config().set_checkpoint_storage_dir(folder)
        client = environment.execute_async("transcript")
        assert isinstance(client, InProcessJobClient)
        client.wait()
        left = left_of_branch(client.job.directory, client.job.plan, source_name(0))
    heard = Heard()
    for each in sink.results:
        heard.add(each.tag, each.item)
    compare_whole(transcript, level, heard, any_order=parallelism > 1)
    compare_left(transcript, level, transcript.left, left)


def _program(
    transcript: Transcript, environment: StreamExecutionEnvironment, parallelism: int
) -> tuple[StreamExecutionEnvironment, CollectSink]:
    sink = CollectSink()
    environment.set_parallelism(parallelism)
    build_branch(environment, transcript, 0, sink)
    return environment, sink


def _compare_all_left(transcript: Transcript, level: str, left: dict[int, Left]) -> None:
    for number, step in enumerate(transcript.steps):
        if step.left is not None:
            compare_left(transcript, level, step.left, left[number], f"after step {number + 1}")
    compare_left(transcript, level, transcript.left, left[len(transcript.steps) - 1])


# ---- many in one job, on any engine ----


def play_together(
    environment: StreamExecutionEnvironment, transcripts: Sequence[Transcript], checkpoint_directory: str
) -> dict[str, TranscriptMismatch]:
    """Play transcripts as branches of one job, step by step; returns those that failed, by name.

    A job costs some seconds to start on Spark, so it is shared. The environment must write its checkpoints to the
    directory and have parallelism 1; the clock is common to all, see `packed`.
    """
    sink = CollectSink()
    for branch, transcript in enumerate(transcripts):
        build_branch(environment, transcript, branch, sink)
    plan = compile_plan(environment.graph, JobSettings(job_name="transcripts", parallelism=1))
    environment.execute("transcripts")
    directory = CheckpointDirectory(checkpoint_directory)
    failed = {}
    for branch, transcript in enumerate(transcripts):
        try:
            compare_steps(transcript, "in a common job", heard_by_step(transcript, branch, sink.results))
            left = left_of_branch(directory, plan, source_name(branch))
            compare_left(transcript, "in a common job", transcript.left, left)
        except TranscriptMismatch as mismatch:
            failed[transcript.name] = mismatch
    return failed


def packed(transcripts: Sequence[Transcript]) -> list[list[Transcript]]:
    """Transcripts in as few jobs as their clocks allow: in one job the same time must hold in the same batch."""
    groups: list[tuple[list[Transcript], list[int]]] = []
    for transcript in sorted(transcripts, key=lambda each: -len(each.batches()) * each.has_clock()):
        times = _times(transcript)
        fitting = (members for members, known in groups if all(a == b for a, b in zip(times, known, strict=False)))
        members = next(fitting, None)
        if members is None:
            groups.append(([transcript], times))
        else:
            members.append(transcript)
    return [members for members, _ in groups]


def _times(transcript: Transcript) -> list[int]:
    """The time in each batch; empty if the transcript does not care."""
    times: list[int] = []
    for _, items in transcript.batches():
        times += [next((item.now_ms for item in items[0] if isinstance(item, Clock)), times[-1] if times else 0)]
    return times if transcript.has_clock() else []
