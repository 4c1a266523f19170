"""Real processes: what they leave behind, and what is told of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks import processes


def run(code: str, folder: Path, limit_s: float = 30) -> processes.Ended:
    return processes.run([sys.executable, "-c", code], os.environ, folder, limit_s)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_process_that_ends_well(tmp_path: Path) -> None:
    assert run("print('done')", tmp_path).error is None
    assert (tmp_path / "log").read_text() == "done\n"


def test_a_process_that_fails_is_quoted(tmp_path: Path) -> None:
    ended = run("import sys; print('ValueError: no such key'); print('an Exception'); sys.exit(3)", tmp_path)
    assert ended.error == "ended with 3: ValueError: no such key"


def test_a_process_that_hangs_is_ended(tmp_path: Path) -> None:
    assert run("import signal; signal.pause()", tmp_path, limit_s=0.1).error == "not finished after 0.1 s"


def test_nothing_outlives_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE_S", 0.1)
    code = (
        "import os, subprocess, sys\n"
        # It leaves the process group, as Spark's workers do, and does not listen.
        "child = 'import os, signal; os.setpgid(0, 0); signal.signal(signal.SIGTERM, signal.SIG_IGN); '\n"
        "child += 'print(1, flush=True); signal.pause()'\n"
        "other = subprocess.Popen([sys.executable, '-c', child], stdout=subprocess.PIPE)\n"
        "other.stdout.readline()\n"
        "open('pid', 'w').write(str(other.pid))\n"
    )
    assert run(code, tmp_path).error is None
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_memory_is_that_of_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "SAMPLE_S", 0.02)
    code = "import subprocess, sys; block = b'x' * 40_000_000; "
    code += "subprocess.run([sys.executable, '-c', 'import time; b = b\"y\" * 40_000_000; time.sleep(0.3)'])"
    assert 80 < run(code, tmp_path).peak_mb < 160


def test_processor_time_is_that_of_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "SAMPLE_S", 0.02)
    busy = "import time; [0 for _ in iter(lambda: time.process_time() < 0.3, False)]"
    ended = run(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); {busy}", tmp_path)
    used = ended.processor_s_until(float("inf"))
    assert 0.5 < used < 2
    assert [seconds for _, seconds in ended.processor_s] == sorted(seconds for _, seconds in ended.processor_s)
