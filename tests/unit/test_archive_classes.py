"""`scripts/archive_classes`: the archive of Spark's classes is made once, and what goes wrong stops nothing."""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "archive_classes"
DRIVER = """
from pathlib import Path
from penstock.engine.spark.startup.class_archive import ClassArchive
archive = ClassArchive(Path({home!r}))
draft = archive.options().split('"')[1]
archive.started("/spark/jars/a.jar")
Path(draft).write_bytes(b"classes")
"""

Run = Callable[[str], str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """What the script says if a job does this; Java is a script that finds every archive whole."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexit 0\n")
    java.chmod(0o755)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    spec = spec_from_loader("archive_classes", SourceFileLoader("archive_classes", str(SCRIPT)))
    assert spec is not None and spec.loader is not None
    script: Any = module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "quiet_java_home", lambda: java.parent.parent)
    monkeypatch.setattr(script, "END_SECONDS", 0)

    def run(job: str) -> str:
        monkeypatch.setattr(script, "JOB", job.replace("{home!r}", repr(str(java.parent.parent))))
        script.main()
        return capsys.readouterr().out

    return run


def test_it_is_made_by_a_job_and_only_once(run: Run, tmp_path: Path) -> None:
    assert run(DRIVER).startswith("penstock: made the archive of Spark's classes in ")
    assert [path.suffix for path in (tmp_path / "cache" / "classes").iterdir()] == [".jsa"]
    assert run("raise SystemExit(1)") == "penstock: the archive of Spark's classes is there\n"


@pytest.mark.parametrize("job", ["raise SystemExit(1)", "pass"], ids=["a job that fails", "a job that leaves none"])
def test_without_it_all_goes_on(run: Run, job: str) -> None:
    said = run(job)
    assert said.startswith("penstock: no archive of Spark's classes was made; drivers take longer to start")
    assert said.count("\n") == 1
