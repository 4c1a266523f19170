"""The format of transcripts itself: what counts as a mismatch, what is refused, how jobs are shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common.watermark_strategy import Watermark
from penstock.datastream import CoMapFunction, DataStream, OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.testing import Clock, Cut, Element, Fail, Idle, Pause
from penstock.testing.bare import is_one_operator, play_bare
from penstock.testing.players import packed, play_in_process, play_together, play_with_seed
from penstock.testing.transcripts import End, Input, Left, On, Step, Transcript, TranscriptMismatch

ASIDE = OutputTag("aside")
Player = Callable[[Transcript], None]

players = pytest.mark.parametrize("play", [play_bare, play_in_process])


class Both(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value
        yield ASIDE, value


def double(stream: DataStream) -> DataStream:
    return stream.map(lambda value: value * 2)


def merged(one: DataStream, other: DataStream) -> DataStream:
    return double(one.union(other))


class Signs(CoMapFunction):
    def map1(self, value: int) -> int:
        return value

    def map2(self, value: int) -> int:
        return -value


def both(stream: DataStream) -> DataStream:
    return stream.process(Both())


def count(stream: DataStream) -> DataStream:
    return stream.key_by(str).reduce(lambda left, right: left)


WRONG = {
    "a wrong value": (double, [Step(Element(1, 5), out=[(3, 5)])]),
    "a wrong timestamp": (double, [Step(Element(1, 5), out=[(2, 6)])]),
    "no timestamp": (double, [Step(Element(1, 5), out=[(2, None)])]),
    "unexpected output": (double, [Step(Element(1, 5))]),
    "unexpected silence": (double, [Step(out=[(2, 5)])]),
    "output in the step before": (double, [Step(Element(1, 5)), Step(out=[(2, 5)])]),
    "output one time too many": (double, [Step(1, 1, out=[(2, None)])]),
    "another order": (double, [Step(1, 2, out=[(4, None), (2, None)])]),
    "output at the end only": (double, [Step(1), Step(End(), out=[(2, None)])]),
    "a wrong watermark": (double, [Step(Watermark(5), watermark=4)]),
    "no watermark": (double, [Step(watermark=4)]),
    "unexpected side output": (both, [Step(1, out=[(1, None)], side={ASIDE: []})]),
    "a wrong side output": (both, [Step(1, out=[(1, None)], side={ASIDE: [(2, None)]})]),
    "state that is left": (count, [Step(1, out=[(1, None)])]),
    "state left between steps": (count, [Step(1, out=[(1, None)], left=Left())]),
}


@players
@pytest.mark.parametrize("wrong", WRONG)
def test_a_mismatch_is_seen(play: Player, wrong: str) -> None:
    pipeline, steps = WRONG[wrong]
    with pytest.raises(TranscriptMismatch):
        play(Transcript(wrong, pipeline, steps))


@players
def test_a_mismatch_names_transcript_level_step_and_both_sides(play: Player) -> None:
    with pytest.raises(TranscriptMismatch) as caught:
        play(Transcript("doubles", double, [Step(Watermark(1)), Step(Element(1, 5), out=[(3, 5)])]))
    text = str(caught.value)
    assert "'doubles'" in text and "step 2 of 3" in text and "Element(value=1, timestamp=5)" in text
    assert "expected [(3, 5)]" in text and "got      [(2, 5)]" in text


@players
def test_any_order_allows_another_order_but_no_other_records(play: Player) -> None:
    play(Transcript("x", double, [Step(1, 2, out=[(4, None), (2, None)])], any_order=True))
    with pytest.raises(TranscriptMismatch):
        play(Transcript("x", double, [Step(1, 1, out=[(4, None), (2, None)])], any_order=True))
    with pytest.raises(TranscriptMismatch):
        play(Transcript("x", double, [Step(1, 2, out=[(4, None)])], any_order=True))


def test_a_seeded_run_sees_missing_output_and_names_its_seed(seed: int) -> None:
    with pytest.raises(TranscriptMismatch, match=f"seed {seed} "):
        play_with_seed(Transcript("x", double, [Step(1, out=[(2, None)]), Step(out=[(3, None)])]), seed)


def test_a_seeded_run_sees_what_is_left(seed: int) -> None:
    with pytest.raises(TranscriptMismatch, match="left in the store"):
        play_with_seed(Transcript("x", count, [Step(1, out=[(1, None)])]), seed)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([Step(End()), Step(1)], "continues after End"),
        ([Step(End(), 1)], "continues after End"),
        ([Step(1, Fail())], "fails or pauses"),
        ([Step(1, Pause(5))], "fails or pauses"),
        ([Step(1), Step(Clock(5))], "first item must be a Clock"),
        ([Step(Clock(1), On(1, Clock(5)))], "set it on the first one"),
        ([Step(Input(1, 5))], "pass inputs="),
    ],
)
def test_a_transcript_that_cannot_be_played_alike_everywhere_is_refused(steps: list[Step], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Transcript("x", double, steps)


def test_several_inputs_are_checked_too() -> None:
    for steps, problem in [
        ([Step(Clock(1), Input(1, Clock(5)))], "split 0 of input 1: set it on the first one"),
        ([Step(Input(1, End(), 5))], "continues after End"),
        ([Step(Input(2, 5))], "beyond the 2 declared"),
        ([Step(Input(0, 5))], "beyond the 2 declared"),
    ]:
        with pytest.raises(ValueError, match=problem):
            Transcript("x", merged, steps, inputs=2)


def test_inputs_have_scripts_of_their_own() -> None:
    steps = [Step(1, Input(1, 2, On(1, 3))), Step(Input(1, End())), Step(4)]
    transcript = Transcript("x", merged, steps, inputs=2)
    cut = Cut()
    assert transcript.scripts() == [[1, cut, cut, 4, cut, cut]]
    assert transcript.scripts(1) == [[2, cut, cut], [3, cut, cut, cut, cut]]


@pytest.mark.parametrize("swaps", [False, True])
def test_two_inputs_are_played_bare_whichever_way_they_are_connected(swaps: bool) -> None:
    def connected(one: DataStream, other: DataStream) -> DataStream:
        left, right = (other, one) if swaps else (one, other)
        return left.connect(right).map(Signs())

    signs = [-1, 1] if swaps else [1, -1]
    steps = [Step(1, out=[(signs[0], None)]), Step(Input(1, 2, End()), out=[(2 * signs[1], None)]), Step(3)]
    transcript = Transcript("x", connected, steps, inputs=2)
    assert is_one_operator(transcript)
    with pytest.raises(TranscriptMismatch, match="step 3"):
        play_bare(transcript)


def test_inputs_that_share_an_input_of_the_operator_are_not_played_bare() -> None:
    assert not is_one_operator(Transcript("x", merged, [], inputs=2))
    assert not is_one_operator(Transcript("x", lambda stream: stream.connect(stream).map(Signs()), []))


def test_at_random_inputs_come_in_any_order_but_completely(seed: int) -> None:
    steps = [Step(Input(1, 1), out=[(2, None)]), Step(2, out=[(4, None)])]
    play_with_seed(Transcript("x", merged, steps, inputs=2), seed)
    with pytest.raises(TranscriptMismatch):
        play_with_seed(Transcript("x", merged, [*steps, Step(Input(1, 3))], inputs=2), seed)


def test_only_one_operator_with_one_input_is_played_bare() -> None:
    assert is_one_operator(Transcript("x", double, []))
    for pipeline, steps in [(lambda s: double(double(s)), []), (double, [Step(On(1, 5))])]:
        transcript = Transcript("x", pipeline, steps)
        assert not is_one_operator(transcript)
        with pytest.raises(ValueError, match="play it in process"):
            play_bare(transcript)


def test_a_stepwise_transcript_is_not_left_to_chance() -> None:
    with pytest.raises(ValueError, match="because of this"):
        play_with_seed(Transcript("x", double, [], stepwise_only="because of this"), 1)


def changed(*kinds: str) -> list[tuple[Any, int | None]]:
    return [((kind, "a"), None) for kind in kinds]


def test_changes_that_settle_are_compared_by_what_they_leave_at_random(seed: int) -> None:
    def as_changes(one: DataStream, other: DataStream) -> DataStream:
        return one.union(other).map(lambda kind: (kind, "a"))

    # What comes out is +I, -D, +I; the transcript says that one row stays, and which changes make it does not matter.
    rows = [Step("+I", "-D", "+I", out=changed("+I"))]
    play_with_seed(Transcript("x", as_changes, rows, inputs=2, settles=True), seed)
    with pytest.raises(TranscriptMismatch):
        play_in_process(Transcript("x", as_changes, rows, inputs=2, settles=True))
    with pytest.raises(TranscriptMismatch, match="the rows that stay"):
        play_with_seed(Transcript("x", as_changes, [Step("+I", "-D", out=changed("+I"))], inputs=2, settles=True), seed)
    with pytest.raises(TranscriptMismatch, match="takes back a row that is not there"):
        play_with_seed(Transcript("x", as_changes, [Step("-D", "-D", "+I", out=[])], inputs=2, settles=True), seed)


def test_a_transcript_may_leave_the_store_alone(seed: int) -> None:
    transcript = Transcript("x", count, [Step(1, out=[(1, None)])], left=None)
    for play in (play_bare, play_in_process, lambda each: play_with_seed(each, seed)):
        play(transcript)
    with pytest.raises(TranscriptMismatch, match="after step 1"):
        play_in_process(Transcript("x", count, [Step(1, out=[(1, None)], left=Left())], left=None))


def test_what_is_for_jobs_only_is_not_played_bare() -> None:
    transcript = Transcript("x", double, [], job_only="because of this")
    assert not is_one_operator(transcript)
    with pytest.raises(ValueError, match="because of this"):
        play_bare(transcript)


def test_scripts_have_a_cut_after_each_batch_and_splits_stay_in_step() -> None:
    transcript = Transcript("x", double, [Step(Clock(1), 1, Clock(2), Cut(), 2, On(1, 7)), Step(On(1, End())), Step(3)])
    cut = Cut()
    assert transcript.scripts() == [
        [Clock(1), 1, cut, Clock(2), cut, 2, cut, cut, 3, cut, cut],
        [7, cut, cut, cut, cut],
    ]
    assert [number for number, _ in transcript.batches()] == [0, 0, 0, 1, 2, 3]


def test_transcripts_share_a_job_where_their_clocks_agree() -> None:
    def clocked(name: str, *times: int) -> Transcript:
        *others, last = [[Clock(time)] for time in times]
        return Transcript(name, double, [*(Step(*items) for items in others), Step(*last, End())])

    plain = Transcript("plain", double, [Step(1), Step(2), Step(Idle())])
    jobs = packed([plain, clocked("short", 5, 6), clocked("long", 5, 6, 9), clocked("other", 5, 7)])
    assert [{transcript.name for transcript in job} for job in jobs] == [{"long", "short", "plain"}, {"other"}]


def test_transcripts_of_one_job_are_judged_one_by_one(tmp_path: Any) -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path))
    steps = [Step(1, out=[(1, None)])]
    transcripts = [
        Transcript("right", count, steps, left=Left(state_entries=1)),
        Transcript("wrong", double, steps),
        Transcript("something left", count, steps),
    ]
    failed = play_together(environment, transcripts, str(tmp_path))
    assert set(failed) == {"wrong", "something left"}
