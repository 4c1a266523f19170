"""Transcripts: the input and expected output of a pipeline, step by step, as Python data.

How a transcript is played is in `bare` and `players`. Python data and not a file format of its own, because pipelines,
keys and values are Python objects: tuples, None and functions need no spelling of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.common.constants import MIN_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream.stream import DataStream
from penstock.testing.script import Clock, Cut, Element, Fail, Pause
from penstock.vocabulary.output_tag import OutputTag

Pair = tuple[Any, int | None]
"""A value that came out, with its timestamp."""

Pipeline = Callable[..., DataStream]
"""From the input streams of a transcript, mostly one, to the stream that is listened to."""

Lane = tuple[int, int]
"""One split of one input; `(0, 0)` is the main one, which has the clock and ends last."""

MAIN: Lane = (0, 0)

_ADDING = ("+I", "+U")
"""Kinds of changes that add a row; the others take one back."""

NO_WATERMARK = MIN_WATERMARK
"""As `Step.watermark`: none has come out yet."""


class TranscriptMismatch(AssertionError):
    """The output of a pipeline differs from its transcript."""


@dataclass(frozen=True)
class End:
    """The input ends here. Every transcript ends; one that does not say so ends with a step of its own."""


@dataclass(frozen=True)
class Left:
    """What is left in the store: timers of both kinds, and pairs of key and state that hold something."""

    event_timers: int = 0
    processing_timers: int = 0
    state_entries: int = 0


class On:
    """Items of a split other than the first: `On(1, Element("b", 2), Watermark(3))`."""

    def __init__(self, split: int, *items: Any) -> None:
        self.split = split
        self.items = items

    def __repr__(self) -> str:
        return f"On({', '.join(map(repr, (self.split, *self.items)))})"


class Input:
    """Items of an input other than the first: `Input(1, Element("b", 2), Watermark(3))`; those may be `On` a split."""

    def __init__(self, index: int, *items: Any) -> None:
        self.index = index
        self.items = items

    def __repr__(self) -> str:
        return f"Input({', '.join(map(repr, (self.index, *self.items)))})"


class Step:
    """Items that go in, and everything that comes out before the next step; what is not named must not come.

    Items are those of a `ScriptedSource` (`Element`, `Watermark`, `Idle`, `Clock`, `Cut`), `On`, `Input` and `End`;
    any other value is a record without timestamp. `out` and `side` are pairs of value and timestamp. `watermark` is the
    last one that came out of the main output; `left` is compared where the store can be seen between steps: not on
    Spark.
    """

    def __init__(
        self,
        *items: Any,
        out: Sequence[Pair] = (),
        side: Mapping[OutputTag, Sequence[Pair]] | None = None,
        watermark: int | None = None,
        left: Left | None = None,
    ) -> None:
        self.items = items
        self.out = list(out)
        self.side = {tag: list(pairs) for tag, pairs in (side or {}).items()}
        self.watermark = watermark
        self.left = left

    def of_input(self, index: int) -> list[Any]:
        """The items of one input, with those of its splits still wrapped up."""
        if index == 0:
            return [item for item in self.items if not isinstance(item, Input)]
        return [part for item in self.items if isinstance(item, Input) and item.index == index for part in item.items]

    def of_lane(self, lane: Lane) -> list[Any]:
        """The items of one split of one input."""
        index, split = lane
        items = self.of_input(index)
        if split == 0:
            return [item for item in items if not isinstance(item, On)]
        return [part for item in items if isinstance(item, On) and item.split == split for part in item.items]

    def expected(self, tag: str | None) -> list[Pair]:
        """What must come out of the main output (None) or a side output."""
        return self.out if tag is None else self.side.get(OutputTag(tag), [])

    def __repr__(self) -> str:
        return f"Step({', '.join(map(repr, self.items))})"


@dataclass(frozen=True)
class Transcript:
    """One statement about a pipeline.

    `left`: what must be in the store when the input has ended. `any_order`: records of one step may come in any
    order, as they do where channels meet. `stepwise_only` gives the reason why the results depend on where batches
    are cut, if they do.

    A pipeline that takes several streams, say `lambda left, right: left.connect(right).map(...)`, needs `inputs=2`;
    items of the second stream are written `Input(1, Element("b", 2))`. Items without `Input` belong to the first one,
    which sets the clock and ends last; another ends by `Input(1, End())`, or with the first (to end the first one
    early, swap the parameters of the pipeline). Between inputs there is no order within a step: where it matters which
    record comes first, give each a step of its own. At random there is no order between inputs at all, and records may
    come in any order; a transcript whose results depend on who is first, or on whether a watermark of one input
    overtakes a record of the other, is `stepwise_only`.

    Values may be changes: tuples that begin with a kind, "+I", "-U", "+U" or "-D". If the changes on the way depend on
    which input comes first, but not the table that they leave, say `settles`: at random only that table is compared.
    `job_only` gives the reason why the bare operator cannot be tested, if it is known before the pipeline is built.
    With `left=None` the store is not looked at, for operators that keep state for ever in a layout of their own.
    """

    name: str
    pipeline: Pipeline
    steps: Sequence[Step]
    left: Left | None = field(default_factory=Left)
    any_order: bool = False
    stepwise_only: str = ""
    inputs: int = 1
    settles: bool = False
    job_only: str = ""

    def __post_init__(self) -> None:
        steps = list(self.steps)
        if not steps or End() not in steps[-1].of_lane(MAIN):
            steps.append(Step(End()))
        object.__setattr__(self, "steps", steps)
        _check(self)

    def split_count(self, index: int = 0) -> int:
        """How many splits the source of an input has."""
        items = [item for step in self.steps for item in step.of_input(index)]
        return 1 + max((item.split for item in items if isinstance(item, On)), default=0)

    def lanes(self) -> list[Lane]:
        """All splits of all inputs, the main one first."""
        return [(index, split) for index in range(self.inputs) for split in range(self.split_count(index))]

    def tags(self) -> list[OutputTag]:
        """The side outputs that are read: those that some step names."""
        return list(dict.fromkeys(tag for step in self.steps for tag in step.side))

    def outputs(self) -> list[str | None]:
        """All outputs that are read: None is the main one."""
        return [None, *(tag.tag_id for tag in self.tags())]

    def has_clock(self) -> bool:
        """Whether the transcript sets the clock."""
        return any(isinstance(item, Clock) for step in self.steps for item in step.items)

    def looks_at_store(self, number: int) -> bool:
        """Whether the transcript says what is left after a step."""
        is_last = number == len(self.steps) - 1
        return self.steps[number].left is not None or (is_last and self.left is not None)

    def batches(self) -> list[tuple[int, dict[Lane, list[Any]]]]:
        """The number of its step and the items of each lane, for every batch when each step is cut off the next."""
        found = []
        lanes = self.lanes()
        for number, step in enumerate(self.steps):
            pieces = {lane: _pieces(step.of_lane(lane)) for lane in lanes}
            for index in range(max(map(len, pieces.values()))):
                found.append((number, {lane: (each[index : index + 1] or [[]])[0] for lane, each in pieces.items()}))
        return found

    def scripts(self, index: int = 0) -> list[list[Any]]:
        """The scripts of the splits of an input, with a cut after each batch."""
        return [self._script((index, split)) for split in range(self.split_count(index))]

    def _script(self, lane: Lane) -> list[Any]:
        script: list[Any] = []
        for _, items in self.batches():
            script += [item for item in items[lane] if item != End()]
            script.append(Cut())
            if End() in items[lane]:
                break
        return script


def _pieces(items: list[Any]) -> list[list[Any]]:
    """The items of a step in the batches they fall into: a cut ends one, a change of the clock starts one."""
    pieces: list[list[Any]] = [[]]
    for item in items:
        if isinstance(item, Cut):
            pieces.append([])
        elif isinstance(item, Clock) and pieces[-1]:
            pieces.append([item])
        else:
            pieces[-1].append(item)
    return pieces


def _check(transcript: Transcript) -> None:
    """Refuse a transcript that could not mean the same on every level."""
    problem = next(_problems(transcript), None)
    if problem is not None:
        raise ValueError(f"transcript {transcript.name!r}: {problem}")


def _problems(transcript: Transcript) -> Iterator[str]:
    for number, step in enumerate(transcript.steps, start=1):
        if any(isinstance(item, Input) and not 0 < item.index < transcript.inputs for item in step.items):
            yield f"step {number} has items for an input beyond the {transcript.inputs} declared: pass inputs=..."
        is_last = number == len(transcript.steps)
        for lane in transcript.lanes():
            items = step.of_lane(lane)
            if End() in items[:-1] or (End() in items and lane == MAIN and not is_last):
                yield f"step {number} continues after End()"
            if any(isinstance(item, (Fail, Pause)) for item in items):
                yield f"step {number} fails or pauses; a transcript is about results: use a ScriptedSource"
            if lane != MAIN and any(isinstance(item, Clock) for item in items):
                yield f"step {number} sets the clock on split {lane[1]} of input {lane[0]}: set it on the first one"
    if transcript.has_clock() and not isinstance(next(iter(transcript.steps[0].items), None), Clock):
        yield "it sets the clock, so its first item must be a Clock: otherwise it starts at an unknown time"


@dataclass
class Heard:
    """What came out during one step."""

    outputs: dict[str | None, list[Pair]] = field(default_factory=dict)
    watermark: int | None = None

    def add(self, tag: str | None, item: Element | Watermark) -> None:
        """Take one more record or watermark."""
        if isinstance(item, Element):
            self.outputs.setdefault(tag, []).append((item.value, item.timestamp))
        elif tag is None:
            self.watermark = item.timestamp


def compare_steps(transcript: Transcript, level: str, heard: Sequence[Heard]) -> None:
    """Raise `TranscriptMismatch` for the first step whose output is not what was expected."""
    watermark = NO_WATERMARK
    for number, (step, each) in enumerate(zip(transcript.steps, heard, strict=True), start=1):
        where = f"transcript {transcript.name!r}, {level}, step {number} of {len(transcript.steps)}: {step!r}"
        for tag in transcript.outputs():
            _compare(where, tag, step.expected(tag), each.outputs.get(tag, []), transcript.any_order)
        watermark = watermark if each.watermark is None else each.watermark
        if step.watermark not in (None, watermark):
            raise TranscriptMismatch(f"{where}\n  expected watermark {step.watermark}\n  got {watermark}")


def compare_whole(transcript: Transcript, level: str, heard: Heard, *, any_order: bool) -> None:
    """Raise `TranscriptMismatch` if everything that came out is not what all steps together expect."""
    for tag in transcript.outputs():
        expected = [pair for step in transcript.steps for pair in step.expected(tag)]
        where = f"transcript {transcript.name!r}, {level}, all steps"
        got = heard.outputs.get(tag, [])
        if transcript.settles:
            where, expected, got = f"{where}, the rows that stay", settled(expected), settled(got)
        _compare(where, tag, expected, got, any_order or transcript.any_order or transcript.settles)


def settled(changes: Sequence[Pair]) -> list[Pair]:
    """Return the rows that changes leave, without their kinds, whatever order the changes come in."""
    rows = [((*fields,), timestamp) for (kind, *fields), timestamp in changes if kind in _ADDING]
    for (kind, *fields), timestamp in changes:
        if kind not in _ADDING:
            if ((*fields,), timestamp) not in rows:
                raise TranscriptMismatch(f"the change {(kind, *fields)} takes back a row that is not there")
            rows.remove(((*fields,), timestamp))
    return rows


def compare_left(
    transcript: Transcript, level: str, expected: Left | None, found: Left, after: str = "at the end"
) -> None:
    """Raise `TranscriptMismatch` if something else is left in the store."""
    if expected is not None and found != expected:
        where = f"transcript {transcript.name!r}, {level}, left in the store {after}"
        raise TranscriptMismatch(f"{where}\n  expected {expected}\n  got      {found}")


def compare_all_left(transcript: Transcript, level: str, left: dict[int, Left]) -> None:
    """Raise `TranscriptMismatch` if something else is left after a step that says so, or at the end."""
    for number, step in enumerate(transcript.steps):
        if step.left is not None:
            compare_left(transcript, level, step.left, left[number], f"after step {number + 1}")
    if transcript.left is not None:
        compare_left(transcript, level, transcript.left, left[len(transcript.steps) - 1])


def _compare(where: str, tag: str | None, expected: list[Pair], got: list[Pair], any_order: bool) -> None:
    if (_same_in_any_order(expected, got)) if any_order else expected == got:
        return
    output = "main output" if tag is None else f"side output {tag!r}"
    raise TranscriptMismatch(f"{where}\n  {output}, expected {expected}\n  {output}, got      {got}")


def _same_in_any_order(expected: list[Pair], got: list[Pair]) -> bool:
    rest = list(got)  # values need not be hashable or sortable
    for pair in expected:
        if pair not in rest:
            return False
        rest.remove(pair)
    return not rest
