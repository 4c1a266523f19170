"""Programs that are uploaded: what is taken, what is refused, and that nothing gets out of its folder."""

from __future__ import annotations

import errno
import io
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.server.answers import Refusal
from penstock.server.dispatcher import programs
from penstock.server.dispatcher.programs import Program, checked_program, entry_of, requirements_of, unpacked
from tests.server.packages import wheel


def archive(*members: tuple[str, bytes], link: str | None = None) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members:
            made.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        if link is not None:
            entry = zipfile.ZipInfo("link")
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            made.writestr(entry, link)
    return stream.getvalue()


def test_a_folder_is_unpacked_once_and_its_entry_found(tmp_path: Path) -> None:
    program = checked_program("etl.zip", archive(("main.py", b"import helper"), ("pkg/helper.py", b"")))
    folder = unpacked(program, tmp_path / "p")
    assert sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*.py")) == ["main.py", "pkg/helper.py"]
    assert entry_of(program, folder, None) == ["--", str(folder / "main.py")]
    assert entry_of(program, folder, "pkg/helper.py") == ["--", str(folder / "pkg" / "helper.py")]
    assert entry_of(program, folder, "pkg.helper") == ["-m", "pkg.helper", "--"]
    (folder / "main.py").write_text("changed")
    assert (unpacked(program, tmp_path / "p") / "main.py").read_text() == "changed"


@pytest.mark.parametrize("entry", ["../../etc/passwd.py", "/etc/passwd", "no/such.py", "a b", "os; import x"])
def test_an_entry_outside_of_the_program_is_refused(tmp_path: Path, entry: str) -> None:
    program = checked_program("etl.zip", archive(("main.py", b"")))
    with pytest.raises(Refusal):
        entry_of(program, unpacked(program, tmp_path / "p"), entry)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "an absolute path": (lambda: archive(("/etc/cron.d/x", b"")), "only files and folders"),
    "a way out": (lambda: archive(("../outside.py", b"")), "only files and folders"),
    "a way out of a folder": (lambda: archive(("a/../../outside.py", b"")), "only files and folders"),
    "a way out on Windows": (lambda: archive(("..\\outside.py", b"")), "only files and folders"),
    "a drive": (lambda: archive(("C:\\x.py", b"")), "only files and folders"),
    "a link": (lambda: archive(link="/etc/passwd"), "only files and folders"),
    "zeros": (lambda: archive(("zeros", bytes(50_000_000))), "too much for its size"),
    "many files": (lambda: archive(*((f"f{number}", b"") for number in range(10_001))), "10000 are allowed"),
    "no archive": (lambda: b"no archive at all", "is no zip archive"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_archives_are_refused(what: str) -> None:
    make, message = HOSTILE[what]
    with pytest.raises(Refusal, match=message):
        checked_program("etl.zip", make())


def test_an_archive_that_lies_about_its_size_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = checked_program("etl.zip", archive(("main.py", b"x" * 10_000)))
    monkeypatch.setattr(programs, "MOST_UNPACKED_BYTES", 5_000)
    with pytest.raises(Refusal, match="larger unpacked than it says"):
        unpacked(program, tmp_path / "p")


@pytest.mark.parametrize(
    "name", ["program.sh", "", "..", "a b.py", "x" * 200 + ".py", "-rf.py", "<script>.py", ".hidden.py"]
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(Refusal, match="is no name for a program"):
        checked_program(name, b"")


def test_a_path_in_front_of_the_name_is_dropped() -> None:
    assert checked_program("C:\\Users\\ada\\job.py", b"").name == "job.py"
    assert checked_program("../../job.py", b"").name == "job.py"


def test_what_is_no_python_is_told_at_once() -> None:
    with pytest.raises(Refusal, match="is no Python program"):
        checked_program("job.py", b"def broken(")


NO_REQUIREMENTS = [
    "-e .", "--pre", "https://evil.example/x.whl", "./x", "/x", "x @ file:///etc", "file:/etc", "sub/x", "x.whl",
    "x.tar.gz", "x@./y", "x --hash=sha256:0", "~/x", "$HOME", "git+ssh:x",
]  # fmt: skip


@pytest.mark.parametrize("line", NO_REQUIREMENTS)
def test_requirements_are_packages_and_nothing_else(tmp_path: Path, line: str) -> None:
    with pytest.raises(Refusal, match="only names and versions"):
        checked_program("job.py", b"", line)
    with pytest.raises(Refusal, match="only names and versions"):
        checked_program("etl.zip", archive(("main.py", b""), ("requirements.txt", line.encode())))
    built = wheel(tmp_path, "etl", "1.0", {"etl/__init__.py": ""}, [line])
    with pytest.raises(Refusal, match="only names and versions"):
        checked_program(built.name, built.read_bytes())


def test_requirements_as_people_write_them() -> None:
    text = "\ufeffa\n\n# c\nb==2  # why\nc[x, y]>=1,<2 ; python_version < '4'\nd.e_f-g ~= 1.0\nh (>=1.5)\ni!=1!2.*"
    kept = checked_program("job.py", b"", text).requirements.splitlines()
    assert kept == ["a", "b==2", "c[x, y]>=1,<2 ; python_version < '4'", "d.e_f-g ~= 1.0", "h (>=1.5)", "i!=1!2.*"]


def test_requirements_of_a_folder_and_a_wheel(tmp_path: Path) -> None:
    folder = checked_program("etl.zip", archive(("main.py", b""), ("requirements.txt", b"# c\nb==2\n")), "a>=1\n")
    assert requirements_of(folder, unpacked(folder, tmp_path / "f")) == ["a>=1", "b==2"]
    built = wheel(tmp_path, "etl", "1.0", {"etl/__init__.py": ""}, ["numpy"])
    program = checked_program(built.name, built.read_bytes())
    place = unpacked(program, tmp_path / "w")
    assert requirements_of(program, place) == [str(place / program.name)]
    assert entry_of(program, place, "etl") == ["-m", "etl", "--"]
    with pytest.raises(Refusal, match="give the module to run"):
        entry_of(program, place, None)


def test_wheels_that_pip_would_not_take(tmp_path: Path) -> None:
    whole = wheel(tmp_path, "etl", "1.0", {"etl.py": ""}).read_bytes()
    torn = wheel(tmp_path, "torn", "1.0", {"torn.py": ""}, is_whole=False)
    damaged = whole.replace(b"Name: etl", b"Name: etc")  # its checksum is wrong now
    for name, content, message in [
        ("etl.whl", whole, "is not a wheel that pip can install: build it with"),
        (torn.name, torn.read_bytes(), "is not a wheel that pip can install"),
        ("etl-1.0-py3-none-any.whl", archive(("etl.py", b"")), "is not a wheel that pip can install"),
        ("etl-1.0-py3-none-any.whl", damaged, "is damaged: etl-1.0.dist-info/METADATA in it cannot be read"),
        ("etl-1.0-py3-none-any.whl", whole[:-40], "is no zip archive"),
    ]:
        with pytest.raises(Refusal, match=message):
            checked_program(name, content)


def test_a_program_that_runs_already_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = checked_program("etl.zip", archive(("main.py", b"x = 1")))
    really = programs._unpack

    def overtaken(program: Program, folder: Path) -> None:
        monkeypatch.setattr(programs, "_unpack", really)
        first = unpacked(program, tmp_path / "p")  # another submission of the program is quicker, and starts it
        (first / "main.py").write_text("read by a driver")
        really(program, folder)

    monkeypatch.setattr(programs, "_unpack", overtaken)
    assert (unpacked(program, tmp_path / "p") / "main.py").read_text() == "read by a driver"
    assert [each.name for each in tmp_path.iterdir()] == ["p"], "no draft is left"


def test_a_program_that_was_half_unpacked_is_unpacked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = checked_program("etl.zip", archive(("main.py", b"x = 1")))

    def killed(program: Program, folder: Path) -> None:
        (folder / "main.py").write_text("x =")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(programs, "_unpack", killed)
        unpacked(program, tmp_path / "p")
    assert (unpacked(program, tmp_path / "p") / "main.py").read_text() == "x = 1"


def spoiled(content: bytes, *changes: tuple[bytes, int, int]) -> bytes:
    made = bytearray(content)
    for mark, offset, value in changes:
        made[made.index(mark) + offset] = value
    return bytes(made)


def test_archives_that_cannot_be_unpacked_say_what_to_do(tmp_path: Path) -> None:
    whole = archive(("main.py", b"print(1)" * 50))
    local, central = b"PK\x03\x04", b"PK\x01\x02"
    for content, message in [
        (spoiled(whole, (local, 6, 1), (central, 8, 1)), "is encrypted: pack it without a password"),
        (spoiled(whole, (local, 8, 99), (central, 10, 99)), "compressed in a way that is not known: pack it with zip"),
    ]:
        with pytest.raises(Refusal, match=message):
            checked_program("etl.zip", content)
    for number, (content, message) in enumerate(
        [
            (spoiled(whole, (b"main.py", 12, 0xFF)), r"etl.zip is damaged \(.*\): pack it again"),
            (archive(("a", b""), ("a/b", b"")), "etl.zip cannot be unpacked: .* in it: rename or remove it"),
            (archive(("x" * 300, b"")), "etl.zip cannot be unpacked: File name too long, for 'xxx"),
        ]
    ):
        program = checked_program("etl.zip", content)
        with pytest.raises(Refusal, match=message):
            unpacked(program, tmp_path / str(number))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_space_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(program: Program, folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(programs, "_unpack", full)
    with pytest.raises(Refusal, match=f"no space left in {tmp_path}.*: free some, and submit it again"):
        unpacked(checked_program("etl.zip", archive(("main.py", b""))), tmp_path / "p")


@pytest.mark.parametrize("content", [b"x=" + b"-" * 100_000 + b"1", b"(" * 100_000, b"x=" + b"a." * 100_000 + b"a"])
def test_programs_that_python_cannot_read(content: bytes) -> None:
    with pytest.raises(Refusal, match=r"deep\.py is no Python program"):
        checked_program("deep.py", content)


def test_the_same_program_is_kept_once() -> None:
    one, other = checked_program("a.py", b"x = 1"), checked_program("a.py", b"x = 1")
    assert one.id == other.id != checked_program("a.py", b"x = 1", "numpy").id
