"""The rows of a running query, taken by a thread of its own while a view shows them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock.cli.sql_shell.live_rows import LiveRows
from penstock.cli.sql_shell.results import safe_texts
from penstock.errors import JobCancelledError
from penstock.table.table_result import TableResult


class RowFeed:
    """Takes rows until the job ends; `on_change` is called after each and at the end."""

    def __init__(self, result: TableResult, rows: LiveRows, on_change: Callable[[], None]) -> None:
        """Put the rows of a result into a view."""
        self._result = result
        self._rows = rows
        self._on_change = on_change
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="penstock-sql-rows", daemon=True)
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begin to take rows."""
        self._thread.start()

    def is_over(self) -> bool:
        """Whether the job has ended and all of its rows are there."""
        return not self._thread.is_alive()

    @contextmanager
    def held(self) -> Iterator[LiveRows]:
        """The rows, which do not change meanwhile."""
        with self._lock:
            yield self._rows

    def end(self) -> None:
        """Cancel the job if it runs, and wait until it has ended; raises its failure if it had one."""
        client = self._result.get_job_client()
        if client is not None and not self.is_over():
            client.cancel().result()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            for row in safe_texts(self._result, self._result.rows()):
                with self._lock:
                    self._rows.change(row[0], row[1:])
                self._on_change()
        except JobCancelledError:
            pass  # this is how a view is left
        except BaseException as error:
            self.failure = error
        finally:
            self._on_change()
