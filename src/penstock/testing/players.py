"""Plays transcripts as jobs: in process step by step or randomized, or many in one job on any engine.

A transcript is fed as a job of the environment that is handed in, whatever engine that has.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence

from penstock.checkpoint import CheckpointDirectory
from penstock.common import Configuration
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.engine.in_process.client import InProcessJobClient
from penstock.graph import JobSettings, compile_plan
from penstock.testing.collecting import CollectSink
from penstock.testing.leftovers import left_of_branch
from penstock.testing.recording import build_branch, heard_by_step, source_names
from penstock.testing.script import Clock
from penstock.testing.transcripts import (
    MAIN,
    Heard,
    Transcript,
    TranscriptMismatch,
    compare_all_left,
    compare_left,
    compare_steps,
    compare_whole,
)

_CRASH_RATE = 0.03


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
        if transcript.looks_at_store(number):
            left[number] = left_of_branch(client.job.directory, client.job.plan, source_names(transcript, 0))
    if client.run_batch():
        raise TranscriptMismatch(f"transcript {transcript.name!r}, {level}: the job continues after the last step")
    client.cancel()
    compare_steps(transcript, level, heard_by_step(transcript, 0, sink.results))
    compare_all_left(transcript, level, left)


def play_with_seed(transcript: Transcript, seed: int, mode: str = "micro-batch") -> None:
    """Play in process with random parallelism, batches, interleaving and crashes; compare the total output.

    `mode` is that of `penstock.execution.mode`: in continuous mode barriers and rows interleave at random.
    """
    if transcript.stepwise_only:
        raise ValueError(f"transcript {transcript.name!r} can only be played step by step: {transcript.stepwise_only}")
    parallelism = random.Random(seed).choice((1, 1, 2, 3))
    level = f"in process with seed {seed} and parallelism {parallelism}, {mode}"
    configuration = Configuration()
    configuration.set_string("penstock.execution.mode", mode)
    seeded = StreamExecutionEnvironment.in_process(seed, crash_rate=_CRASH_RATE, configuration=configuration)
    environment, sink = _program(transcript, seeded, parallelism)
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:  # a job removes only what is its own
        environment.get_checkpoint_config().set_checkpoint_storage_dir(folder)
        client = environment.execute_async("transcript")
        assert isinstance(client, InProcessJobClient)
        client.wait()
        left = left_of_branch(client.job.directory, client.job.plan, source_names(transcript, 0))
    heard = Heard()
    for each in sink.results:
        heard.add(each.tag, each.item)
    compare_whole(transcript, level, heard, any_order=parallelism > 1 or transcript.inputs > 1)
    compare_left(transcript, level, transcript.left, left)


def _program(
    transcript: Transcript, environment: StreamExecutionEnvironment, parallelism: int
) -> tuple[StreamExecutionEnvironment, CollectSink]:
    sink = CollectSink()
    environment.set_parallelism(parallelism)
    build_branch(environment, transcript, 0, sink)
    return environment, sink


# ---- many in one job, on any engine ----


def play_together(
    environment: StreamExecutionEnvironment,
    transcripts: Sequence[Transcript],
    checkpoint_directory: str,
    *,
    stepwise: bool = True,
) -> dict[str, TranscriptMismatch]:
    """Play transcripts as branches of one job; returns those that failed, by name.

    A job costs some seconds to start on Spark, so it is shared. The environment must write its checkpoints to the
    directory and have parallelism 1; the clock is common to all, see `packed`. Without `stepwise`, as in continuous
    mode, only the total output is compared.
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
            if stepwise:
                compare_steps(transcript, "in a common job", heard_by_step(transcript, branch, sink.results))
            else:
                heard = Heard()
                for each in sink.results:
                    if each.branch == branch:
                        heard.add(each.tag, each.item)
                compare_whole(transcript, "in a common job", heard, any_order=transcript.inputs > 1)
            left = left_of_branch(directory, plan, source_names(transcript, branch))
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
        times += [next((item.now_ms for item in items[MAIN] if isinstance(item, Clock)), times[-1] if times else 0)]
    return times if transcript.has_clock() else []
