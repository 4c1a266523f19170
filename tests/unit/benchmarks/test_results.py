"""Results files: their heading, and that they are stored whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import results


def test_a_heading_says_what_was_measured_on_what() -> None:
    heading = results.heading(parallelism=2, rounds=3, flink="2.3")
    assert heading["machine"].keys() == {"cpu", "cores", "memory_gb", "system"}
    assert heading["versions"].keys() >= {"python", "penstock", "pyspark", "flink"}
    assert (heading["parallelism"], heading["rounds"]) == (2, 3)
    assert all(heading[name] for name in ("commit", "date"))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert results.read("growth", tmp_path) is None
    results.write("growth", {"series": [1]}, tmp_path / "folder")
    assert results.read("growth", tmp_path / "folder") == {"series": [1]}


def test_what_cannot_be_written_leaves_the_file_alone(tmp_path: Path) -> None:
    results.write("growth", {"series": []}, tmp_path)
    with pytest.raises(TypeError):
        results.write("growth", {"series": object()}, tmp_path)
    assert results.read("growth", tmp_path) == {"series": []}
