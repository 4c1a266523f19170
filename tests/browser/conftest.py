"""One browser and one set of jobs for all tests of pages."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.job.client import RunningJobClient
from penstock.server.access import Access
from penstock.server.app import PAGES, create_app
from penstock.server.job_views import ClientView, EndedView, JobView
from penstock.server.own_jobs import OwnJobs
from penstock.server.serving import HttpServer, Place
from tests.browser.chromium import Watched, running_browser
from tests.browser.shown_jobs import HOSTILE, LONG_NAME, ending, start_failing, start_orders, start_wide
from tests.spark.waiting import wait_until

KAFKA_LAG = {("clicks", 0): 12, ("clicks", 1): 98_765, ("page-views", 0): 0}


class ShownJobs(OwnJobs):
    """Jobs of this process, and documents of jobs that do not run here."""

    def show(self, view: JobView) -> None:
        with self._lock:
            self._views[view.job_id] = view

    def hide(self, job_id: str) -> None:
        with self._lock:
            del self._views[job_id]


@dataclass(frozen=True)
class Served:
    """Jobs and the server that shows them."""

    url: str
    folder: Path
    jobs: ShownJobs
    orders: RunningJobClient
    wide: str
    kafka: str
    failed: str
    hostile: str

    @property
    def orders_id(self) -> str:
        return str(self.orders.get_job_id())


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    with running_browser() as found:
        yield found


@pytest.fixture(scope="package")
def served(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A job that runs, two that failed, and documents of a large one and of one that reads Kafka."""
    folder, jobs = tmp_path_factory.mktemp("pages"), ShownJobs()
    failed, hostile = start_failing("invoices", "vat_rate"), start_failing(f"job {HOSTILE}", HOSTILE)
    orders = start_orders(folder, "orders", 400.0)
    with ending(orders):
        wide = document_of_wide()
        wait_until(lambda: orders.progress().records > 500, "the job has read something")
        kafka = with_kafka(ClientView(orders).document())
        for client in (failed, hostile, orders):
            jobs.add(client)
        for document in (wide, kafka):
            jobs.show(EndedView(document))
        server = HttpServer(create_app(jobs, Access(), pages=PAGES), Place())
        server.start()
        try:
            ids = (wide["id"], kafka["id"], str(failed.get_job_id()), str(hostile.get_job_id()))
            yield Served(server.url, folder, jobs, orders, *ids)
        finally:
            server.stop()


def document_of_wide() -> dict[str, Any]:
    client = start_wide(LONG_NAME)
    with ending(client):
        wait_until(lambda: client.progress().records > 0, "the large job has read something")
        return ClientView(client).document()


def with_kafka(document: dict[str, Any]) -> dict[str, Any]:
    """What a job tells that reads Kafka on Spark."""
    document = copy.deepcopy(document)
    source = document["plan"][0]
    figures = document["subtasks"][source["id"]][0]["figures"][source["operators"][0]["uid"]]
    figures.update({f"lag.{topic}-{number}": lag for (topic, number), lag in KAFKA_LAG.items()})
    pace = {"limit": 5_000, "batch_ms": 900, "was_limited": True, "backpressured": 0.93, "backlog": 98_777}
    document["progress"]["pace"] = pace
    document["cluster"] |= {"engine": "spark", "master": "local[2]", "web_url": "http://127.0.0.1:4040"}
    return {**document, "id": "f" * 32, "name": "clicks"}


@pytest.fixture
def open_page(browser: Any, served: Served) -> Iterator[Callable[..., Any]]:
    """Opens places of the pages; in the end none of them may have complained."""
    opened: list[Watched] = []

    def open_place(place: str, base: str | None = None, **options: Any) -> Any:
        watched = Watched(browser, base or served.url, **options)
        opened.append(watched)
        return watched.open(place)

    yield open_place
    for each in opened:
        each.close()
    assert [complaint for each in opened for complaint in each.complaints] == []
