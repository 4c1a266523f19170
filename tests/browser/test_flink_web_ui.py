"""Flink's own web UI, which nobody here wrote, shows a Penstock job through the REST API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.server.access import Access
from penstock.server.app import create_app
from penstock.server.serving import HttpServer, Place
from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import Served
from tests.browser.flink_web import flink_pages

pytestmark = pytest.mark.slow

OpenPage = Callable[..., Any]


@pytest.fixture(scope="module")
def flink(served: Served) -> Iterator[str]:
    """The address of a server with Flink's pages in place of ours."""
    server = HttpServer(create_app(served.jobs, Access(), pages=flink_pages()), Place())
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


def shows(page: Any, *texts: str) -> None:
    for text in texts:
        # The editor in which Flink's page shows tracebacks writes spaces that do not break.
        shown = "(text) => document.body.innerText.replaceAll('\\u00a0', ' ').includes(text)"
        page.wait_for_function(shown, arg=text, timeout=WAIT_MS)


def test_the_overview_lists_jobs(open_page: OpenPage, served: Served, flink: str) -> None:
    page = open_page("#/overview", base=flink)
    shows(page, "Running Jobs", "orders", "clicks", "RUNNING", "invoices", "FAILED")


def test_a_job_has_its_graph_and_vertices(open_page: OpenPage, served: Served, flink: str) -> None:
    page = open_page(f"#/job/running/{served.orders_id}/overview", base=flink)
    shows(page, "orders", "spending by customer")
    page.locator("flink-dagre svg g.node, .nodes-wrapper .node, svg .node").first.wait_for(timeout=WAIT_MS)
    assert page.locator("svg").filter(has_text="sales by city").count() > 0


def test_checkpoints_are_listed(open_page: OpenPage, served: Served, flink: str) -> None:
    page = open_page(f"#/job/running/{served.orders_id}/checkpoints", base=flink)
    shows(page, "Checkpoint Counts", "Latest Completed Checkpoint", "Completed")
    page.get_by_role("tab", name="History").click()
    shows(page, "Checkpointed Data Size")
    page.get_by_role("tab", name="Configuration").last.click()  # that of checkpoints; the job has one too
    shows(page, "Checkpointing Mode", "Exactly Once")


def test_exceptions_have_the_python_traceback(open_page: OpenPage, served: Served, flink: str) -> None:
    page = open_page(f"#/job/completed/{served.failed}/exceptions", base=flink)
    shows(page, "KeyError: 'vat_rate'", "Traceback (most recent call last)")
