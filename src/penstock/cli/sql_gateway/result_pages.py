"""The rows of a result in pages: as many as a client asks for, while the job waits for it to ask."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from penstock.errors import JobCancelledError
from penstock.server.flink.sql_results import columns, rows_writer
from penstock.server.gateway.channel import CallError
from penstock.table.table_result import TableResult

PAGE_ROWS = 1000
"""Rows of a page, and rows that are held for the next one."""
WAIT_SECONDS = 0.5
"""How long a client is kept waiting for the first row of a page."""

Row = tuple[Any, ...]


class ResultPages:
    """Takes rows in a thread of its own, but not while a page of them waits; the last page can be had again."""

    def __init__(self, result: TableResult, page_rows: int = PAGE_ROWS) -> None:
        """Begin to take the rows of a result."""
        self.result = result
        self._page_rows = page_rows
        self._changed = threading.Condition()
        self._rows: deque[Row] = deque()
        self._last: list[Row] = []
        self._token = 0
        self._is_over = self._is_closed = False
        self._failure: BaseException | None = None
        threading.Thread(target=self._take, name="penstock-sql-rows", daemon=True).start()

    def fetch(self, token: int, row_format: str, wait_seconds: float = WAIT_SECONDS) -> dict[str, Any]:
        """The page of a token: `type` is PAYLOAD or EOS, `data` the rows as JSON, `next` the token of the next page."""
        with self._changed:
            if token == self._token - 1:
                return self._told(self._last, row_format, self._token)
            if token != self._token:
                raise CallError(f"there is no page {token}: the next one is {self._token}, and only one is kept")
            self._await_rows(time.monotonic() + wait_seconds)
            page = [self._rows.popleft() for _ in range(min(len(self._rows), self._page_rows))]
            self._changed.notify_all()
            if page:
                self._last, self._token = page, token + 1
            elif self._failure is not None:
                raise self._failure
            elif self._is_over:
                return {**self._told([], row_format, None), "type": "EOS"}
            return self._told(page, row_format, self._token)

    def close(self) -> None:
        """Take no more, and end the job."""
        with self._changed:
            self._is_closed = True
            self._rows.clear()
            self._changed.notify_all()
        client = self.result.get_job_client()
        if client is not None and not self._is_over:
            client.cancel().exception()

    def _await_rows(self, until: float) -> None:
        while not self._rows and not self._is_over:
            left = until - time.monotonic()
            if left <= 0 or not self._changed.wait(left):
                return

    def _told(self, rows: list[Row], row_format: str, following: int | None) -> dict[str, Any]:
        result = self.result
        write = rows_writer(result.row_type, row_format, result.zone)
        return {"type": "PAYLOAD", "columns": columns(result.row_type), "data": write(rows), "next": following}

    def _take(self) -> None:
        try:
            for row in self.result.rows():
                with self._changed:
                    while len(self._rows) >= self._page_rows and not self._is_closed:
                        self._changed.wait()
                    if self._is_closed:
                        return
                    self._rows.append(row)
                    self._changed.notify_all()
        except JobCancelledError:
            pass  # somebody ended it: what was there by then is the result
        except BaseException as error:
            self._failure = error
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()
