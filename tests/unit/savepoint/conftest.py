"""One savepoint for all tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.savepoint.ledger import Start, run_some


@pytest.fixture(scope="session")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The savepoint of a ledger that was left in the middle."""
    folder = tmp_path_factory.mktemp("ledger")
    client = Start(folder / "out").client()
    run_some(client)
    return Path(client.stop_with_savepoint(False, str(folder)).result())
