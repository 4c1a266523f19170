"""Staged publication: whoever dies wherever, the outside system has each record of the sealed versions once."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration
from penstock.connectors.sink import SinkContext
from penstock.connectors.staged_sink import INLINE_PART, Marker, Publication, StagedCommitter, StagingWriter
from penstock.connectors.stages import Stage, StageWriter
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.job import InProcessJob
from penstock.errors import JobFailedError, SinkError
from tests.unit.connectors.outside_system import OutsideSink, OutsideSystem, Steps, TextEncoder

WAYS = {"inline": 64 * 1024, "in files": 0}
IN_FILE, INLINE = 0, 1 << 20


# ---- a whole job ----


def run(folder: Path, inline_bytes: int, steps: Steps, *crash_at: int) -> InProcessJob:
    environment = StreamExecutionEnvironment.in_process(crash_at=crash_at)
    environment.set_parallelism(2)
    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", "6")
    configuration.set_string("execution.checkpointing.dir", str(folder / "checkpoint"))
    environment.configure(configuration)
    numbers = environment.from_collection(list(range(12)))
    sink = OutsideSink(OutsideSystem(folder / "system.json"), steps, inline_bytes=inline_bytes)
    # The number of the try is part of the record: a replay gives other records.
    tries = Counter[int]()

    def with_try(number: int) -> str:
        tries[number] += 1
        return f"{number} in try {tries[number]}"

    numbers.key_by(lambda number: number % 5).map(with_try).sink_to(sink)
    client = environment.execute_async()
    assert isinstance(client, InProcessJobClient)
    client.wait()
    return client.job


def numbers_in(folder: Path) -> Counter[str]:
    return Counter(record.split()[0] for record in OutsideSystem(folder / "system.json").records())


EACH_ONCE = Counter(str(number) for number in range(12))


@pytest.mark.parametrize("way", WAYS)
def test_a_death_at_any_step_changes_nothing(tmp_path: Path, way: str) -> None:
    calm = Steps()
    job = run(tmp_path / "calm", WAYS[way], calm)
    assert numbers_in(tmp_path / "calm") == EACH_ONCE
    deaths = [((step,), ()) for step in range(1, len(calm.taken) + 1)]
    deaths += [((), (step,)) for step in range(1, job.steps + 1)]
    deaths += [((step, step + 1, step + 3), ()) for step in range(1, len(calm.taken) + 1, 3)]
    for number, (in_publisher, in_job) in enumerate(deaths):
        steps = Steps(*in_publisher)
        job = run(tmp_path / str(number), WAYS[way], steps, *in_job)
        assert job.crashes or len(steps.taken) >= len(calm.taken)
        assert numbers_in(tmp_path / str(number)) == EACH_ONCE, f"{steps.taken} {job.trace}"
        assert not list((tmp_path / str(number)).rglob("*.stage")), "a stage was left behind"


def test_what_was_published_is_skipped_after_a_death(tmp_path: Path) -> None:
    calm = Steps()
    run(tmp_path / "calm", 0, calm)
    after_commit = calm.taken.index("committed") + 1
    steps = Steps(after_commit)
    run(tmp_path / "crash", 0, steps)
    assert "skip" in steps.taken
    assert steps.taken.count("commit") == calm.taken.count("commit")


def test_inline_stages_of_all_subtasks_are_one_transaction(tmp_path: Path) -> None:
    run(tmp_path, WAYS["inline"], Steps())
    content = OutsideSystem(tmp_path / "system.json").read()
    assert content["commits"] == 2, "one for each batch"
    assert [owner.split("/")[-1] for owner in content["markers"]] == [INLINE_PART]


def test_a_record_that_cannot_be_encoded_is_named(tmp_path: Path) -> None:
    class Mute:
        def __str__(self) -> str:
            raise ValueError("no words")

        def __repr__(self) -> str:
            return "<a mute record>"

    environment = StreamExecutionEnvironment.in_process()
    values = environment.from_collection([1]).map(lambda _: Mute())
    values.sink_to(OutsideSink(OutsideSystem(tmp_path / "system.json")))
    with pytest.raises(JobFailedError, match="no words") as caught:
        environment.execute()
    assert "<a mute record>" in str(caught.value)
    assert not OutsideSystem(tmp_path / "system.json").records()


# ---- writers and committers ----


def context(tmp_path: Path, subtask: int = 0, parallelism: int = 2) -> SinkContext:
    return SinkContext("job", "a/sink", "orders", subtask, parallelism, lambda: 0, str(tmp_path / "staged"))


def staged(tmp_path: Path, values: list[Any], *, inline_bytes: int, subtask: int = 0, version: int = 0) -> Stage:
    writer = StagingWriter(TextEncoder(), context(tmp_path, subtask), inline_bytes)
    writer.begin(version, f"try {version}", None)
    writer.write(values, None, 0)
    (stage,) = writer.prepare_commit(0, False)
    return pickle.loads(pickle.dumps(stage))  # type: ignore[no-any-return]


def publication(stage: Stage) -> Publication:
    return Publication(stage.job_id, stage.uid, "0", stage.version, (stage,))


@given(st.lists(st.lists(st.binary(max_size=40) | st.none(), min_size=1, max_size=5), max_size=8), st.integers(0, 300))
@settings(max_examples=40, deadline=None)
def test_blocks_come_back_as_they_were(tmp_path_factory: Any, blocks: list[list[Any]], inline_bytes: int) -> None:
    folder = tmp_path_factory.getbasetemp() / "blocks"
    writer = StageWriter(str(folder), "sink/stage", inline_bytes)
    for block in blocks:
        writer.append(block, len(block))
    stage = writer.finish(job_id="job", uid="sink", subtask=0, version=1, attempt="a")
    if not blocks:
        assert stage is None
        return
    assert stage is not None
    assert list(stage.blocks()) == blocks
    assert stage.records == sum(map(len, blocks))
    assert bool(stage.file) == (stage.size > inline_bytes) == (not stage.inline)
    assert not stage.file or (folder / stage.file).stat().st_size == stage.size
    stage.remove()
    assert not (folder / "sink" / "stage").exists()


def test_large_blocks_are_written_while_they_come(tmp_path: Path) -> None:
    writer = StageWriter(str(tmp_path), "stage", 1000)
    noise = [random.Random(number).randbytes(600_000) for number in range(2)]
    for block in noise:
        writer.append(block, 1)
    assert (tmp_path / "stage").exists()
    stage = writer.finish(job_id="job", uid="sink", subtask=0, version=1, attempt="a")
    assert stage is not None and list(stage.blocks()) == noise


@pytest.mark.parametrize("inline_bytes", [IN_FILE, INLINE])
def test_every_cut_and_every_changed_byte_is_seen(tmp_path: Path, inline_bytes: int) -> None:
    stage = staged(tmp_path, ["one", "two"], inline_bytes=inline_bytes)
    path = Path(stage.folder) / stage.file
    whole = path.read_bytes() if stage.file else stage.inline
    damaged = [whole[:length] for length in range(len(whole))]
    damaged += [whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in range(len(whole))]
    for content in damaged:
        if stage.file:
            path.write_bytes(content)
        broken = stage if stage.file else Stage(**{**vars(stage), "inline": content})
        with pytest.raises(SinkError, match="Nothing of it was published"):
            list(broken.blocks())


def test_a_stage_that_is_gone_is_an_error_and_not_a_success(tmp_path: Path) -> None:
    system = OutsideSystem(tmp_path / "system.json")
    committer = OutsideSink(system).create_committer()
    assert isinstance(committer, StagedCommitter)
    stage = staged(tmp_path, ["one"], inline_bytes=IN_FILE)
    stage.remove()
    for commit in (committer.commit, committer.commit_again):
        with pytest.raises(SinkError, match="is gone"):
            commit([stage])
    assert system.records() == []


def test_a_published_stage_may_be_gone(tmp_path: Path) -> None:
    committer = OutsideSink(OutsideSystem(tmp_path / "system.json")).create_committer()
    assert committer is not None
    stage = staged(tmp_path, ["one"], inline_bytes=IN_FILE)
    committer.commit([stage])
    assert not (Path(stage.folder) / stage.file).exists()
    committer.commit_again([stage])


def test_files_go_to_the_workers_and_the_rest_does_not(tmp_path: Path) -> None:
    handed: list[Publication] = []

    def run_elsewhere(work: Any, orders: list[Publication]) -> list[Any]:
        handed.extend(orders)
        return [work(order) for order in pickle.loads(pickle.dumps(orders))]

    system = OutsideSystem(tmp_path / "system.json")
    committer = OutsideSink(system).create_committer()
    assert committer is not None
    committer.use_workers(run_elsewhere)
    stages = [
        staged(tmp_path, ["a"], inline_bytes=IN_FILE, subtask=3),
        staged(tmp_path, ["b"], inline_bytes=INLINE, subtask=1),
        staged(tmp_path, ["c"], inline_bytes=INLINE, subtask=0),
    ]
    committer.commit(stages)
    assert [each.part for each in handed] == ["3"]
    assert system.records() == ["a", "c", "b"]


def test_a_failed_try_leaves_no_file(tmp_path: Path) -> None:
    writer = StagingWriter(TextEncoder(), context(tmp_path), IN_FILE)
    writer.begin(0, "a", None)
    writer.write(["one"], None, 0)
    writer.prepare_commit(0, False)
    writer.abort()
    assert not list(tmp_path.rglob("*.stage"))


def test_nothing_is_staged_where_nothing_was_written(tmp_path: Path) -> None:
    writer = StagingWriter(TextEncoder(), context(tmp_path), IN_FILE)
    writer.begin(0, "a", None)
    writer.write([], None, 0)
    assert writer.prepare_commit(0, False) == []
    writer.begin(1, "b", None)
    assert writer.prepare_commit(0, False) == []


def test_the_seal_stays_small_with_many_subtasks(tmp_path: Path) -> None:
    writer = StagingWriter(TextEncoder(), context(tmp_path, 0, parallelism=1 << 20), INLINE)
    writer.begin(0, "a", None)
    writer.write(["one"], None, 0)
    assert writer.prepare_commit(0, False)[0].file


# ---- markers ----


def test_a_marker_is_a_text() -> None:
    marker = Marker(7, "abc")
    assert Marker.from_text(marker.to_text()) == marker


def test_what_a_marker_says_of_a_publication(tmp_path: Path) -> None:
    mine = publication(staged(tmp_path, ["one"], inline_bytes=INLINE, version=5))
    assert not mine.is_done(None)
    assert not mine.is_done(Marker(4, "other"))
    assert mine.is_done(mine.marker)


@pytest.mark.parametrize("found", [Marker(5, "other"), Marker(6, "other")])
def test_a_checkpoint_that_was_put_back_is_refused(tmp_path: Path, found: Marker) -> None:
    mine = publication(staged(tmp_path, ["one"], inline_bytes=INLINE, version=5))
    with pytest.raises(SinkError, match="new checkpoint directory"):
        mine.is_done(found)
