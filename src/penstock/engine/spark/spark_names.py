"""What a job is called where Spark shows it: query, jobs, stages and steps of the plan.

Listeners and the web pages find a job by these names. The group of a query's jobs stays Spark's, which stops it by it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.traceback_utils import SCCallSiteSync

from penstock.graph.plan import JobPlan, Vertex

OnBatch = Callable[[DataFrame, int], None]

_DESCRIPTION = "spark.job.description"
_SHOWN, _DETAILS = "callSite.short", "callSite.long"
_LONGEST = 120


_lock = threading.Lock()
_claimed: set[str] = set()


class SparkNames:
    """The names of one start of a job."""

    def __init__(self, session: SparkSession, plan: JobPlan, job_name: str, job_id: str) -> None:
        self._session = session
        self._job_name = job_name
        self._job_id = job_id
        levels = [plan.sources(), *(vertices for _, vertices in plan.levels())]
        self._operators = _cut("; ".join(map(operators_of, levels)))
        self._plan = plan.explain()

    @contextmanager
    def query_name(self) -> Iterator[str]:
        """The name of the job, for as long as its query is there; Spark allows a name to one query at a time."""
        with _lock:
            taken = _claimed | {query.name for query in self._session.streams.active}
            name = next(name for name in self._candidates() if name not in taken)
            _claimed.add(name)
        try:
            yield name
        finally:
            _claimed.discard(name)

    def _candidates(self) -> Iterator[str]:
        yield self._job_name
        yield f"{self._job_name} ({self._job_id[:8]})"
        for number in itertools.count(2):
            yield f"{self._job_name} ({self._job_id[:8]}, {number})"

    def given_to(self, on_batch: OnBatch) -> OnBatch:
        """The same, with names for the Spark jobs and stages that it starts."""

        def named(frame: DataFrame, batch: int) -> None:
            # In the thread of the query, where Spark names no operators and PySpark would name lines of its own.
            context = frame.sparkSession.sparkContext
            text = f"{self._job_name}, batch {batch}"
            context.setLocalProperty(_DESCRIPTION, text)
            with _Site(context, f"{text}: {self._operators}"):
                context.setLocalProperty(_SHOWN, f"{text}: {self._operators}")
                context.setLocalProperty(_DETAILS, self._plan)
                on_batch(frame, batch)

        return named


class _Site(SCCallSiteSync):
    """Keeps PySpark from naming its own lines in the block."""

    def __init__(self, context: SparkContext, text: str) -> None:
        self._call_site = text
        self._context = context


def operators_of(vertices: list[Vertex]) -> str:
    """The operators that one stage runs."""
    return _cut(" | ".join(vertex.name for vertex in vertices))


@contextmanager
def described(session: SparkSession, text: str) -> Iterator[None]:
    """Say what the Spark jobs of a block are for."""
    context = session.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
