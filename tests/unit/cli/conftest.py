"""The commands are put together once for all tests; typer would do it for every call, which takes 50 ms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from typer.main import get_command


@pytest.fixture(autouse=True, scope="session")
def commands_put_together_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", cache(get_command))
        yield
