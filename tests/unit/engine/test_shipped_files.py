"""Which files of a program are sent to a session that may have some of them already."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.engine.spark.shipped_files import send_files
from penstock.graph import JobSettings


@pytest.mark.parametrize(
    ("there", "is_sent"),
    [
        ("file:{here}/rates.zip#rates", False),
        ("file://{here}/rates.zip#rates", False),
        ("file:/elsewhere/rates.zip#rates", True),
        ("file:{here}/rates.zip#others", True),
    ],
)
def test_only_the_same_archive_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, is_sent: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    sent: list[str] = []
    context: Any = SimpleNamespace(listFiles=[], listArchives=[there.format(here=tmp_path)], addArchive=sent.append)
    send_files(context, JobSettings(job_name="job", spark_config={"spark.archives": "rates.zip#rates"}))
    assert sent == (["rates.zip#rates"] if is_sent else [])
