"""Pages of rows: bounded, kept once, and taken from the job only as fast as they are fetched."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.cli.sql_gateway.result_pages import ResultPages
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.errors import JobFailedError
from penstock.server.gateway.channel import CallError
from penstock.table.table_result import TableResult
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of

NUMBER = row_of(("n",), (LogicalType(Kind.BIGINT),))


class Numbers:
    """A result that counts how many of its rows were taken."""

    def __init__(self, most: int, failure: Exception | None = None) -> None:
        self.taken = 0
        self.waits = threading.Event()
        self._most = most
        self._failure = failure

    def rows(self) -> Iterator[tuple[Any, ...]]:
        while self.taken < self._most:
            self.taken += 1
            yield 0, self.taken
        if self._failure is not None:
            raise self._failure

    def pages(self, page_rows: int) -> ResultPages:
        result = TableResult(NUMBER, lambda: CloseableIterator(self.rows(), lambda: None))
        return ResultPages(result, page_rows)


def numbers(page: dict[str, Any]) -> list[int]:
    return [row["fields"][0] for row in json.loads(page["data"])]


def fetched(pages: ResultPages, token: int) -> dict[str, Any]:
    """The page of a token, with as many rows as fit."""
    while len(pages._rows) < pages._page_rows and not pages._is_over:
        pass
    return pages.fetch(token, "JSON", 60)


def test_pages_follow_each_other_to_the_end() -> None:
    pages = Numbers(5).pages(2)
    found = [fetched(pages, token) for token in range(4)]
    assert [numbers(page) for page in found] == [[1, 2], [3, 4], [5], []]
    assert [(page["type"], page["next"]) for page in found] == [
        ("PAYLOAD", 1), ("PAYLOAD", 2), ("PAYLOAD", 3), ("EOS", None),
    ]  # fmt: skip
    assert pages.fetch(3, "JSON")["type"] == "EOS"


def test_the_last_page_is_kept_and_no_other() -> None:
    pages = Numbers(9).pages(2)
    fetched(pages, 0)
    assert numbers(fetched(pages, 1)) == numbers(fetched(pages, 1)) == [3, 4]
    for token in (0, 3):
        with pytest.raises(CallError, match=f"there is no page {token}: the next one is 2"):
            pages.fetch(token, "JSON")
    assert numbers(pages.fetch(2, "JSON", 60))[0] == 5


def test_rows_are_not_taken_faster_than_they_are_fetched() -> None:
    given = Numbers(1_000_000)
    pages = given.pages(10)
    for token in range(3):
        assert len(numbers(fetched(pages, token))) == 10
    # A page is held, and one row is in the hand of who waits to put it there.
    while given.taken < 41:
        pass
    assert given.taken == 41
    pages.close()


def test_a_failure_comes_after_the_rows_before_it() -> None:
    pages = Numbers(1, JobFailedError("division by zero")).pages(10)
    assert numbers(pages.fetch(0, "JSON", 60)) == [1]
    with pytest.raises(JobFailedError, match="division by zero"):
        pages.fetch(1, "JSON", 60)


def test_no_rows_yet_is_an_empty_page_with_the_same_token() -> None:
    hold = threading.Event()

    def rows() -> Iterator[tuple[Any, ...]]:
        hold.wait(60)
        yield 0, 1

    pages = ResultPages(TableResult(NUMBER, lambda: CloseableIterator(rows(), lambda: None)))
    page = pages.fetch(0, "JSON", 0)
    assert (page["type"], page["data"], page["next"]) == ("PAYLOAD", "[]", 0)
    hold.set()
    assert numbers(pages.fetch(0, "JSON", 60)) == [1]
