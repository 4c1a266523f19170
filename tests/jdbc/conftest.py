"""One PostgreSQL server for all tests of a run, and tables that no other test uses."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jdbc.local_postgres import LocalPostgres, find_binaries
from tests.spark.conftest import new_environment, spark

__all__ = ["new_environment", "spark"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def postgres() -> Iterator[LocalPostgres]:
    """The server of the run; where PostgreSQL is not installed its tests are skipped, or fail if it is required."""
    binaries = find_binaries()
    if binaries is None:
        reason = "PostgreSQL's server is not installed (initdb is not found): apt-get install postgresql"
        if os.environ.get("PENSTOCK_REQUIRE_POSTGRES") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    server = LocalPostgres(binaries)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def table() -> str:
    """The name of a table that is not there."""
    return f"t_{uuid.uuid4().hex[:12]}"
