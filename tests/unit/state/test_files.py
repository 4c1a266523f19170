"""Entry files: what is written comes back, and a damaged file gives an error and no entry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from penstock.errors import CheckpointError
from penstock.state import files
from penstock.state.files import Change, read_entries, write_entries

LOCAL = fs.LocalFileSystem()
ENTRIES: list[Change] = [(b"a", b"1"), (b"b", None), (b"c" * 700, b""), (b"d", b"x" * 300)]


@pytest.mark.parametrize("entries", [[], ENTRIES, [(str(n).encode(), b"v") for n in range(70_000)]])
def test_round_trip(tmp_path: Path, entries: list[Change]) -> None:
    path = f"{tmp_path}/deep/er/file"
    info = write_entries(LOCAL, path, iter(entries))
    assert list(read_entries(LOCAL, path)) == entries
    assert (info.entries, info.bytes) == (len(entries), Path(path).stat().st_size)
    assert [file.name for file in Path(path).parent.iterdir()] == ["file"]


def test_large_file_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_WHOLE_READ_BYTES", 0)
    monkeypatch.setattr(files, "_CHUNK_BYTES", 64)
    path = f"{tmp_path}/file"
    write_entries(LOCAL, path, ENTRIES * 10)
    assert list(read_entries(LOCAL, path)) == ENTRIES * 10


@pytest.mark.parametrize("whole", [True, False])
def test_every_truncation_is_noticed_before_the_first_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    monkeypatch.setattr(files, "_WHOLE_READ_BYTES", 2**20 if whole else 0)
    path = tmp_path / "file"
    write_entries(LOCAL, str(path), ENTRIES)
    data = path.read_bytes()
    for end in range(len(data)):
        path.write_bytes(data[:end])
        with pytest.raises(CheckpointError, match=f"{path} is damaged"):
            next(read_entries(LOCAL, str(path)))


def test_every_flipped_byte_is_noticed_before_the_first_entry(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_entries(LOCAL, str(path), ENTRIES)
    data = path.read_bytes()
    for index in range(len(data)):
        path.write_bytes(data[:index] + bytes([data[index] ^ 0x41]) + data[index + 1 :])
        with pytest.raises(CheckpointError, match="file"):
            next(read_entries(LOCAL, str(path)))


def test_foreign_missing_and_newer_files_say_so(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(CheckpointError, match="missing"):
        next(read_entries(LOCAL, str(path)))
    path.write_bytes(b"PAR1" + b"\x00" * 100)
    with pytest.raises(CheckpointError, match="not a Penstock state file"):
        next(read_entries(LOCAL, str(path)))
    write_entries(LOCAL, str(path), ENTRIES)
    data = path.read_bytes()
    path.write_bytes(data[:9] + b"\x02" + data[10:])
    with pytest.raises(CheckpointError, match="has format 2"):
        next(read_entries(LOCAL, str(path)))


def test_failure_while_writing_leaves_no_file(tmp_path: Path) -> None:
    def failing() -> Iterator[Change]:
        yield b"a", b"1"
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_entries(LOCAL, f"{tmp_path}/file", failing())
    assert list(tmp_path.iterdir()) == []
