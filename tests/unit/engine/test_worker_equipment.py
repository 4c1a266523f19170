"""What workers are given of Penstock: found by where the package is, wherever the module that looks for it is."""

from __future__ import annotations

import zipfile
from pathlib import Path
from urllib.parse import urlparse

import penstock
from penstock.engine.spark.startup import worker_equipment
from penstock.engine.spark.startup.session_config import JAVA_OPTIONS, session_config

PACKAGE = Path(penstock.__file__).resolve().parent


def test_the_archive_for_executors_is_the_whole_package() -> None:
    with zipfile.ZipFile(worker_equipment._package_archive()) as archive:
        names = set(archive.namelist())
    expected = {str(path.relative_to(PACKAGE.parent)) for path in PACKAGE.rglob("*.py")}
    assert "penstock/__init__.py" in expected
    assert names == expected


def test_the_path_of_workers_leads_to_a_source_folder() -> None:
    variables = {"PYTHONPATH": "elsewhere"}
    worker_equipment.let_workers_find_penstock(variables)
    assert variables["PYTHONPATH"].split(":") == ["elsewhere", str(PACKAGE.parent)]


def test_the_file_with_the_settings_of_logs_is_there() -> None:
    options = session_config({}, {}).settings[JAVA_OPTIONS]
    _, _, address = options.partition("-Dlog4j2.configurationFile=")
    assert Path(urlparse(address).path).is_file()
