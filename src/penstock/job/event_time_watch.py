"""Watches event time in a running job, and says which input holds it back: in the progress of the job and in the log.

`JobEventTime` is told of every version, which costs a look at the watermarks of the operators that wait for event
time. Only if one stands still are the snapshots of its inputs read, from the seal. `watch_event_time` looks now and
then, in a thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.checkpoint import Seal
from penstock.common.constants import MIN_WATERMARK
from penstock.common.job_progress import HeldBack
from penstock.common.job_status import JobStatus
from penstock.graph.nodes import bare_name
from penstock.graph.plan import ChainedOperator, InEdge, JobPlan, Vertex
from penstock.job.admission import has_no_end
from penstock.job.event_time_holder import EventTimeHolder, StallLog, told_together
from penstock.runtime.input_times import InputTime
from penstock.runtime.operators import SourceOperator
from penstock.runtime.report import Report, SubtaskEntry, decode_inline

if TYPE_CHECKING:
    from penstock.job.engine_contract import Job

_LOOK_SECONDS = 1.0
_log = logging.getLogger(__name__)

Place = tuple[Vertex, int]
"""A vertex and the number of an operator in it."""


@dataclass
class _Waiting:
    """An operator that waits for event time, with the operators that make the event time it sees."""

    place: Place
    inputs: list[Place]
    holder: EventTimeHolder


@dataclass
class JobEventTime:
    """The event time of all operators of a job that wait for it."""

    plan: JobPlan
    delay: float
    _waiting: list[_Waiting] = field(init=False)
    _seal: Seal | None = None
    _records: dict[tuple[str, int], int] = field(default_factory=dict)
    _read: dict[tuple[str, int], tuple[SubtaskEntry, InputTime]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._waiting = [
            _Waiting(place, makers_of(self.plan, place), EventTimeHolder(bare_name(_operator(place)), delay=self.delay))
            for place in waiting_operators(self.plan)
        ]
        makers = [place for each in self._waiting for place in each.inputs]
        self._ephemeral = {_operator(place).uid: place[0].is_ephemeral for place in makers}

    @property
    def is_used(self) -> bool:
        """Whether any operator of the job waits for event time."""
        return bool(self._waiting)

    def on_version(self, seal: Seal, reports: Iterable[Report], now: float, now_ms: int) -> None:
        """Note how far event time is after a version."""
        if not self._waiting:
            return
        with self._lock:
            came = self._count(reports)
            self._seal = seal
            for each in self._waiting:
                reached = _reached(seal, each.place)
                if reached is not None:
                    each.holder.note(reached, came.get(_operator(each.place).uid, 0), now=now, now_ms=now_ms)

    def _count(self, reports: Iterable[Report]) -> dict[str, int]:
        """Return how many records each operator got, and add up those of operators that make event time."""
        came: dict[str, int] = {}
        for report in reports:
            for uid, figures in report.metrics.items():
                records = int(figures.get("records_in", 0))
                came[uid] = came.get(uid, 0) + records
                if uid in self._ephemeral:
                    # The subtasks of a source that Spark cuts anew in every batch are one.
                    key = uid, 0 if self._ephemeral[uid] else report.subtask
                    self._records[key] = self._records.get(key, 0) + records
        return came

    def held_back(self, now: float, now_ms: int) -> list[HeldBack]:
        """Return the inputs that hold event time back, those for which records wait first."""
        with self._lock:
            seal = self._seal
            if seal is None:
                return []
            looked = [
                each.holder.look(list(self._inputs(seal, each.inputs)), now=now, now_ms=now_ms)
                for each in self._waiting
                if _reached(seal, each.place) is not None and each.holder.has_stood(now)
            ]
        found = told_together(each for each in looked if each is not None)
        return sorted(found, key=lambda held: held.is_quiet)

    def _inputs(self, seal: Seal, makers: list[Place]) -> Iterator[InputTime]:
        for vertex, number in makers:
            subtasks = 1 if vertex.is_ephemeral else vertex.parallelism
            for subtask in range(subtasks):
                entry = seal.entry(vertex.uid, subtask)
                if not entry.has_ended:
                    yield replace(self._input(entry, vertex.operators[number], subtask), parallelism=subtasks)

    def _input(self, entry: SubtaskEntry, chained: ChainedOperator, subtask: int) -> InputTime:
        """Return what an entry says of an operator's event time; it is read again only when there is a new one."""
        key = chained.uid, subtask
        known = self._read.get(key)
        if known is None or known[0] is not entry:
            snapshot = decode_inline(entry.inline)["operators"].get(chained.uid)
            known = entry, chained.operator.input_time(bare_name(chained), chained.uid, snapshot)
            self._read[key] = known
        return replace(known[1], subtask=subtask, records=self._records.get(key, 0))


def waiting_operators(plan: JobPlan) -> list[Place]:
    """Return the operators of a plan whose results wait for event time."""
    return [
        (vertex, number)
        for vertex in plan.vertices
        for number, chained in enumerate(vertex.operators)
        if chained.operator.waits_for_event_time()
    ]


def makers_of(plan: JobPlan, place: Place) -> list[Place]:
    """Return the operators that make the event time which another one sees: sources, or assigners nearer to it."""
    found: dict[tuple[int, int], Place] = {}
    seen: set[tuple[int, int]] = set()
    todo = _feeders(plan, place)
    while todo:
        vertex, number = todo.pop()
        if (vertex.id, number) in seen:
            continue
        seen.add((vertex.id, number))
        if _makes_event_time(vertex, number):
            found[vertex.id, number] = vertex, number
        else:
            todo += _feeders(plan, (vertex, number))
    return [found[key] for key in sorted(found)]


def _makes_event_time(vertex: Vertex, number: int) -> bool:
    """Whether event time begins at an operator; what offers its watermarks to the source leaves that to it."""
    head = vertex.operators[0].operator
    offers = number > 0 and isinstance(head, SourceOperator) and head.takes_offers
    return bool(vertex.operators[number].operator.makes_event_time) and not offers


def _feeders(plan: JobPlan, place: Place) -> list[Place]:
    vertex, number = place
    parent = vertex.operators[number].parent
    if parent is not None:
        return [(vertex, parent)]
    timeless = vertex.operators[0].operator.timeless_inputs
    return [_sender(plan, edge) for edge in vertex.inputs if edge.input_index not in timeless]


def _sender(plan: JobPlan, edge: InEdge) -> Place:
    source = plan.vertex(edge.source)
    return source, next(each.operator for each in source.outputs if each.number == edge.number)


def _operator(place: Place) -> ChainedOperator:
    vertex, number = place
    return vertex.operators[number]


def _reached(seal: Seal, place: Place) -> int | None:
    """Return the watermark of the operator's slowest subtask; None if all have ended."""
    vertex, _ = place
    entries = (seal.entry(vertex.uid, subtask) for subtask in range(1 if vertex.is_ephemeral else vertex.parallelism))
    return min((_watermark(entry, place) for entry in entries if not entry.has_ended), default=None)


def _watermark(entry: SubtaskEntry, place: Place) -> int:
    vertex, number = place
    if number == 0:
        return entry.watermark
    watermark: int = decode_inline(entry.inline)["watermarks"].get(vertex.operators[number].uid, MIN_WATERMARK)
    return watermark


def watch_event_time(job: Job) -> None:
    """Look at event time until the job has ended, in a thread; not if nothing waits for it, or it is turned off."""
    delay_ms, mode = job.settings.stall_warning_ms, job.settings.runtime_mode
    event_time = JobEventTime(job.plan, delay_ms / 1000)
    is_batch = mode == "BATCH" or (mode == "AUTOMATIC" and not has_no_end(job.plan))
    if not event_time.is_used or not delay_ms or is_batch:
        return
    job.statistics.event_time = event_time
    over = threading.Event()
    job.ended.add_done_callback(lambda _: over.set())
    log = StallLog(job.settings.job_name, delay=delay_ms / 1000)
    pause = min(_LOOK_SECONDS, delay_ms / 4000)

    def watch() -> None:
        while not over.wait(pause):
            if job.status is not JobStatus.RUNNING:
                job.statistics.on_held_back([])
                continue
            pause_ms = longest_pause_ms(job)
            found = event_time.held_back(time.monotonic(), time.time_ns() // 1_000_000)
            found = [each for each in found if not each.is_quiet or each.stalled_ms >= pause_ms]
            job.statistics.on_held_back(found)
            for line in log.lines(found):
                _log.warning("%s", line)
        job.statistics.on_held_back([])

    threading.Thread(target=watch, name="penstock-event-time", daemon=True).start()


def longest_pause_ms(job: Job) -> int:
    """Return how long event time may seem to stand still because no version is due, or one takes long."""
    last = job.statistics.journal.versions()[-1:]
    longest = max((each.times.work_ms + each.times.seal_ms + each.times.publish_ms for each in last), default=0)
    return 2 * max(longest, job.settings.batch_interval_ms or 0)
