"""The one switch of all start-up tricks: what each side of it leaves on and off."""

from __future__ import annotations

import gc
import os
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.engine.spark.startup import session, worker_equipment, worker_garbage
from penstock.engine.spark.startup.fast_start import is_fast, tell_workers
from penstock.engine.spark.startup.session_config import session_config
from penstock.errors import ConfigurationError
from penstock.graph import JobSettings

KEY = "penstock.spark.fast-start"
DAEMON = "spark.python.daemon.module"


@pytest.mark.parametrize(("value", "expected"), [(None, True), ("true", True), ("False", False), (False, False)])
def test_the_setting(value: object, expected: bool) -> None:
    told = {} if value is None else {KEY: value}
    assert JobSettings.from_configuration(told).fast_start is expected


def test_another_value_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"fast-start' is 'slow', but it must be true or false"):
        JobSettings.from_configuration({KEY: "slow"})


def test_it_is_no_setting_of_sparks() -> None:
    assert JobSettings.from_configuration({KEY: "false"}).spark_config == {}


def test_without_it_the_daemon_is_sparks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert DAEMON in session_config({}, {}).settings
    assert DAEMON not in session_config({}, {}, fast_start=False).settings
    # A daemon of the user's is no trick of ours.
    assert session_config({DAEMON: "mine"}, {}, fast_start=False).settings[DAEMON] == "mine"


@pytest.mark.parametrize("is_on", [True, False])
def test_the_options_of_java(is_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = SimpleNamespace(options=lambda given: "-XX:SharedArchiveFile=x")
    monkeypatch.setattr(session, "ClassArchive", lambda home: archive)
    made = session.class_archive_of(cast(Any, "home"), fast_start=is_on)
    assert (made is archive) is is_on


@pytest.mark.parametrize("is_on", [True, False])
def test_the_python_of_workers(is_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    session._choose_python(None, is_local=True, fast_start=is_on)
    chosen = os.environ.pop("PYSPARK_PYTHON"), os.environ.pop("PYSPARK_DRIVER_PYTHON")
    assert (chosen == (sys.executable, sys.executable)) is not is_on


@pytest.mark.parametrize("is_on", [True, False])
def test_the_python_of_workers_of_a_session_that_is_there(is_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    context: Any = SimpleNamespace(pythonExec="python3", environment={})
    assert worker_equipment._uses_this_python(context, fast_start=is_on)
    assert (context.pythonExec == sys.executable) is not is_on


@pytest.mark.parametrize("is_on", [True, False])
def test_collections_of_workers(is_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    variables: dict[str, str] = {}
    tell_workers(variables, fast_start=is_on)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(worker_garbage, "_garbage", None)
    before, callbacks = gc.get_threshold(), list(gc.callbacks)
    try:
        assert is_fast() is is_on
        worker_garbage.keep_collections_short()
        assert (gc.get_threshold() != before) is is_on
        assert (len(gc.callbacks) > len(callbacks)) is is_on
    finally:
        gc.set_threshold(*before)
        gc.callbacks[:] = callbacks


def test_the_next_job_of_a_session_may_have_it_again() -> None:
    variables = {"OTHER": "1"}
    tell_workers(variables, fast_start=False)
    assert len(variables) == 2
    tell_workers(variables, fast_start=True)
    assert variables == {"OTHER": "1"}
