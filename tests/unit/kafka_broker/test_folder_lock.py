"""The lock of a broker's folder: held by whoever inherited it, free when that process is gone."""

from __future__ import annotations

import subprocess
from pathlib import Path

from penstock.kafka_broker.folder_lock import claimed, is_claimed


def test_a_child_keeps_the_lock_until_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_claimed(path)
    with claimed(path) as descriptor:
        assert descriptor is not None
        assert is_claimed(path)
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(descriptor,))
    assert is_claimed(path)
    with claimed(path) as second:
        assert second is None
    child.communicate()
    assert not is_claimed(path)
