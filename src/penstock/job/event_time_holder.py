"""Which input holds back event time: decided from how far each split has got, and told as data and as a sentence.

Nothing here reads a clock or a job: `penstock.job.event_time_watch` does, and hands in what it sees. `penstock list`,
the document of a job, the pages and the log all show what `EventTimeHolder.look` returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from penstock.common.constants import MIN_WATERMARK
from penstock.common.job_progress import HeldBack
from penstock.runtime.input_times import NO_WATERMARKS, InputTime, SplitTime

_AHEAD_MS = 24 * 3_600_000
"""A watermark that is further ahead of the clock comes from a wrong timestamp."""

_DAY_MS = 24 * 3_600_000
_MOST_PATIENCE_MS = 3_600_000

Found = tuple[InputTime, SplitTime | None]
"""An input and, if it is known which, the split of it."""


class EventTimeHolder:
    """Follows the event time of one operator, and finds the input that holds it back.

    >>> from penstock.runtime.input_times import InputTime, SplitTime
    >>> holder = EventTimeHolder("totals", delay=10.0)
    >>> holder.note(MIN_WATERMARK, 3, now=0.0, now_ms=0)
    >>> partitions = SplitTime("orders-0", 5_000), SplitTime("orders-1")
    >>> held = holder.look([InputTime("orders", "orders", splits=partitions)], now=12.0, now_ms=12_000)
    >>> held.split, held.reason, held.stalled_ms
    ('orders-1', 'never', 12000)
    """

    def __init__(self, operator: str, *, delay: float) -> None:
        """Name an input when event time has stood still for `delay` seconds."""
        self._operator = operator
        self._delay = delay
        self._reached = MIN_WATERMARK
        self._moved: tuple[float, int] | None = None
        self._waiting_since: float | None = None
        self._lowest: int | None = None
        self._lowest_at = 0.0
        self._first_seen: dict[tuple[str, int, str | None], int | None] = {}

    def note(self, watermark: int, records: int, *, now: float, now_ms: int) -> None:
        """Note the watermark of the operator after a version, and how many records that brought it.

        `now` is a monotonic clock in seconds, `now_ms` the time to be told.
        """
        if watermark > self._reached:
            self._moved = None
            self._reached = watermark
        elif records and self._waiting_since is None:
            self._waiting_since = now
        if self._moved is None:
            self._moved = now, now_ms
            self._lowest, self._first_seen = None, {}
            # Records that came with the watermark that they moved wait for nothing that is held back.
            self._waiting_since = now if records and self._reached == MIN_WATERMARK else None

    def has_stood(self, now: float) -> bool:
        """Whether event time has stood still for so long that it is worth a look."""
        return self._moved is not None and now - self._moved[0] >= self._delay / 3

    def look(self, inputs: Sequence[InputTime], *, now: float, now_ms: int) -> HeldBack | None:
        """Return the input that holds the operator back; None if event time moves, or no input is to blame."""
        if self._moved is None:
            return None
        found = self._slowest(inputs)
        self._remember(inputs, found, now)
        since, _ = self._moved
        if not found or now - max(since, self._lowest_at) < self._delay:
            return None
        return self._named(found, now, now_ms)

    def _named(self, found: list[Found], now: float, now_ms: int) -> HeldBack:
        """Return the first of those that are furthest behind, with what is to be told of it."""
        assert self._moved is not None
        (whole, split), since = found[0], self._moved
        reason = self._reason(whole, split, now_ms)
        is_whole = reason == "no strategy"
        # The end of a bounded input fires everything.
        waited = None if is_whole and whole.is_bounded else self._waiting_since
        mark = (split or whole).watermark
        held = HeldBack(
            operators=(self._operator,),
            uid=whole.uid,
            name=whole.name,
            split=None if split is None or is_whole else split.name,
            subtask=whole.subtask,
            others=0 if is_whole else len(found) - 1,
            reason=reason,
            watermark=_known(mark),
            event_time=_known(self._reached),
            since_ms=since[1],
            stalled_ms=round((now - since[0]) * 1000),
            waiting_ms=0 if waited is None else round((now - waited) * 1000),
            last_record_ms=None if split is None else split.last_record_ms,
            is_quiet=waited is None or now - waited < self._delay,
        )
        if split is not None and reason in ("never", "stopped"):
            what = _silence(reason, whole, split, waits=waited is not None)
        else:
            what = _wrong(reason, whole, split, now_ms)
        return replace(held, text=f"{_standing(held)}: {_who(held, whole)} {what}")

    def _slowest(self, inputs: Sequence[InputTime]) -> list[Found]:
        """Return the splits that are furthest behind. As in a valve, inputs behind what was reached do not count."""
        active = [each for each in inputs if not each.is_idle and each.watermark >= self._reached]
        lowest = min((each.watermark for each in active), default=None)
        found: list[Found] = []
        for whole in (each for each in active if each.watermark == lowest):
            splits = [each for each in whole.splits if not each.is_idle]
            slowest = min((each.watermark for each in splits), default=None)
            found += [(whole, each) for each in splits if each.watermark == slowest] or [(whole, None)]
        return found

    def _remember(self, inputs: Sequence[InputTime], found: list[Found], now: float) -> None:
        """Keep how things were when event time had just stopped, to see what has changed since."""
        assert self._moved is not None
        lowest = found[0][0].watermark if found else None
        if self._lowest is None:
            self._lowest_at = self._moved[0]
            self._first_seen = {
                (whole.uid, whole.subtask, each.name): each.last_record_ms for whole in inputs for each in whole.splits
            }
        elif lowest is not None and lowest > self._lowest:
            self._lowest_at = now
        self._lowest = lowest if lowest is not None else self._lowest

    def _reason(self, whole: InputTime, split: SplitTime | None, now_ms: int) -> str:
        if split is None:
            return "unread"
        if split.watermark == MIN_WATERMARK:
            if split.generator == NO_WATERMARKS:
                return "no strategy"
            has_records = self._gets_records(whole, split) or (len(whole.splits) == 1 and whole.records > 0)
            return "no watermark" if has_records else "never"
        if split.watermark > now_ms + _AHEAD_MS:
            return "ahead"
        return "old" if self._gets_records(whole, split) else "stopped"

    def _gets_records(self, whole: InputTime, split: SplitTime) -> bool:
        """Return whether records have come since event time stopped; clocks of workers are not compared with ours."""
        before = self._first_seen.get((whole.uid, whole.subtask, split.name), split.last_record_ms)
        return split.last_record_ms != before


def _wrong(reason: str, whole: InputTime, split: SplitTime | None, now_ms: int) -> str:
    """Return what is wrong with an input and what to do about it."""
    if reason == "no strategy":
        return (
            "has no watermark strategy; pass one to from_source, or call assign_timestamps_and_watermarks behind it"
            if whole.is_source
            else "has a strategy without watermarks; give it one that makes them"
        )
    if split is None:
        return "has files or partitions that it has not begun to read"
    if reason == "no watermark":
        return "has had records, but there is no watermark of them; check the timestamps and the watermark generator"
    if reason == "ahead":
        days = round((split.watermark - now_ms) / _DAY_MS)
        return (
            f"is too far: its watermark is {days:,} days ahead of the clock, so a record had a wrong timestamp and "
            "those after it are late; check the unit (milliseconds), filter such records out"
        )
    return "gets records, but none is newer than its watermark: they are late"


def _silence(reason: str, whole: InputTime, split: SplitTime, *, waits: bool) -> str:
    """Return what to do about an input without records; nothing, if no records of others wait for it."""
    last = "" if split.last_record_ms is None else f" since {moment(split.last_record_ms)}"
    what = "has never had a record" if reason == "never" else f"has had no record{last}"
    if not waits:
        return f"{what}; no record waits for it"
    if whole.idle_timeout_ms is not None:
        return f"{what}; it counts as idle {whole.idle_timeout_ms / 1000:g} s after its last record"
    may = "stay empty" if reason == "never" else "fall silent"
    return f"{what}; if it may {may}, add .with_idleness(...) to the watermark strategy"


def _who(held: HeldBack, whole: InputTime) -> str:
    """Return the input by its name."""
    who = f"{'source' if whole.is_source else 'operator'} {held.name!r} (uid {held.uid!r})"
    more = f" (and {held.others} more)" if held.others else ""
    if held.split is not None:
        who = f"split {held.split}{more} of {who}"
    elif whole.parallelism > 1 and held.reason != "no strategy":
        who = f"subtask {held.subtask}{more} of {who}"
    differs = held.watermark is not None and held.watermark != held.event_time
    return f"{who}, with watermark {moment(held.watermark or 0)}," if differs else who


def _standing(held: HeldBack) -> str:
    """Return what stands still, where and for how long."""
    first, *others = held.operators
    more = f" and {len(others)} more" if others else ""
    waited = duration(held.stalled_ms)
    if held.event_time is None:
        return f"event time of {first!r}{more} has not begun after {waited}"
    return f"event time of {first!r}{more} has stood still at {moment(held.event_time)} for {waited}"


def _known(watermark: int) -> int | None:
    return None if watermark == MIN_WATERMARK else watermark


def told_together(helds: Iterable[HeldBack]) -> list[HeldBack]:
    """Return one for each input: operators that wait for the same one are told of in one sentence."""
    found: dict[tuple[object, ...], HeldBack] = {}
    for each in helds:
        key = (each.uid, each.subtask, each.split)
        known = found.get(key)
        if known is None:
            found[key] = each
            continue
        longest = max(known, each, key=lambda held: (not held.is_quiet, held.stalled_ms))
        both = replace(longest, operators=known.operators + each.operators)
        found[key] = replace(both, text=_standing(both) + longest.text.removeprefix(_standing(longest)))
    return list(found.values())


class StallLog:
    """Turns what is seen into lines of the log: one when an input is named, one when event time moves again.

    Where event time moves in steps, each step makes the log wait twice as long before it says so again.
    """

    def __init__(self, job_name: str, *, delay: float) -> None:
        """Name an input when records have waited for it for `delay` seconds."""
        self._job = job_name
        self._delay_ms = delay * 1000
        self._told: dict[tuple[object, ...], HeldBack] = {}

    def lines(self, helds: Sequence[HeldBack]) -> list[str]:
        """Return what is to be logged now."""
        found = self._resumed({name for each in helds for name in each.operators})
        for each in helds:
            key = (each.uid, each.subtask, each.split)
            if key not in self._told and each.waiting_ms >= self._delay_ms:
                self._told[key] = each
                found.append(f"job {self._job!r}: {each.text}")
        return found

    def _resumed(self, stalled: set[str]) -> list[str]:
        gone = [key for key, each in self._told.items() if stalled.isdisjoint(each.operators)]
        names = list(dict.fromkeys(name for key in gone for name in self._told.pop(key).operators))
        if not names:
            return []
        self._delay_ms = min(2 * self._delay_ms, max(self._delay_ms, _MOST_PATIENCE_MS))
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return [f"job {self._job!r}: event time of {names[0]!r}{more} moves again"]


def moment(milliseconds: int) -> str:
    """Return a time in UTC; a number that is no date stays a number."""
    try:
        return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def duration(milliseconds: int) -> str:
    """Return a duration in the largest unit that says something."""
    seconds = milliseconds // 1000
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size:,} {unit}"
    return f"{seconds} s"
