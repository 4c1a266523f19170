"""Py4J's log: failures that the job tells itself are not shown there, those of others are."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from penstock.engine.spark.quiet_py4j import hush_py4j, tell_elsewhere


@pytest.fixture(autouse=True)
def level_of_py4j() -> Iterator[None]:
    logger = logging.getLogger("py4j")
    before = logger.level
    yield
    logger.setLevel(before)


def test_only_what_is_told_elsewhere_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    hush_py4j()
    hush_py4j()
    logger = logging.getLogger("py4j.clientserver")
    assert len(logger.filters) == len(set(logger.filters))
    for text, is_told in (("mine", True), ("somebody's", False)):
        try:
            raise ValueError(text)
        except ValueError as error:
            if is_told:
                tell_elsewhere(error)
            logger.exception("There was an exception while executing the Python Proxy on the Python Side.")
    logger.error("without an exception")
    shown = [str(record.exc_info[1]) if record.exc_info else record.getMessage() for record in caplog.records]
    assert shown == ["somebody's", "without an exception"]
