"""Programs as they are uploaded: a Python file, a zipped folder or a wheel; checked before anything of them is kept.

Nothing of a program runs here. An archive is looked through before it is unpacked: names that lead out of the folder,
links, and contents far larger than the archive are refused.
"""

from __future__ import annotations

import errno
import hashlib
import io
import lzma
import re
import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock.scratch import clear_scratch, make_scratch, remove_scratch
from penstock.server.answers import Refusal
from penstock.server.dispatcher.requirements import check_metadata, checked_requirements

MOST_BYTES = 100 * 1024 * 1024
MOST_UNPACKED_BYTES = 500 * 1024 * 1024
MOST_FILES = 10_000
MOST_RATIO = 200
"""Times that an archive may grow: text is packed to a tenth, and nothing honest to a hundredth."""

MOST_PROGRAMS = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,120}")
_KINDS = (".py", ".zip", ".whl")
_WHEEL = re.compile(
    r"[A-Za-z0-9_.]+-[A-Za-z0-9_.!+]+(-[0-9][A-Za-z0-9_.]*)?-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+\.whl"
)
_REQUIREMENTS = "requirements.txt"
_MOST_TEXT_BYTES = 1 << 20
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError)


@dataclass(frozen=True)
class Program:
    """What was uploaded. `id` begins with a digest, so the same program is kept once."""

    name: str
    content: bytes
    requirements: str = ""

    @property
    def id(self) -> str:
        """As Flink has it: something unique, and the name of the file."""
        digest = hashlib.sha256(self.content + b"\0" + self.requirements.encode()).hexdigest()
        return f"{digest[:16]}_{self.name}"

    @property
    def is_archive(self) -> bool:
        """Whether it is a zipped folder."""
        return self.name.endswith(".zip")

    @property
    def is_wheel(self) -> bool:
        """Whether it is installed rather than unpacked."""
        return self.name.endswith(".whl")


def checked_program(name: str, content: bytes, requirements: str = "") -> Program:
    """A program that may be kept; raises Refusal."""
    name = PurePosixPath(name.replace("\\", "/")).name
    if not _NAME.fullmatch(name) or not name.endswith(_KINDS):
        raise Refusal(
            400, f"{name[:80]!r} is no name for a program: letters, digits, _ . + - and one of {', '.join(_KINDS)}"
        )
    if len(content) > MOST_BYTES:
        raise Refusal(413, f"the program has more than {MOST_BYTES >> 20} MB")
    program = Program(name, content, checked_requirements(requirements))
    if name.endswith(".py"):
        _check_source(name, content)
    else:
        _check_archive(name, content)
    return program


def _check_source(name: str, content: bytes) -> None:
    try:
        compile(content, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refusal(400, f"{name} is no Python program: {str(error) or 'too deeply nested'}") from None


def _check_archive(name: str, content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError) as error:
        raise Refusal(400, f"{name} is no zip archive: {error}") from None
    if len(members) > MOST_FILES:
        raise Refusal(413, f"{name} has {len(members)} files, and {MOST_FILES} are allowed")
    unpacked = sum(member.file_size for member in members)
    if unpacked > MOST_UNPACKED_BYTES or unpacked > max(1 << 20, MOST_RATIO * len(content)):
        raise Refusal(413, f"{name} would be {unpacked >> 20} MB unpacked, which is too much for its size")
    for member in members:
        _check_member(name, member)
    if name.endswith(".whl"):
        _check_wheel(name, content)
    elif _REQUIREMENTS in (member.filename for member in members):
        text = _read(name, content, _REQUIREMENTS).decode("utf-8", errors="replace")
        checked_requirements(text, f"{_REQUIREMENTS} in {name}")


def _check_wheel(name: str, content: bytes) -> None:
    """What pip would stumble over, told when it is uploaded."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = set(archive.namelist())
    folders = {each.partition("/")[0] for each in names if each.partition("/")[0].endswith(".dist-info")}
    is_whole = (
        len(folders) == 1 and {f"{next(iter(folders))}/{each}" for each in ("METADATA", "WHEEL", "RECORD")} <= names
    )
    if not _WHEEL.fullmatch(name) or not is_whole:
        raise Refusal(400, f"{name} is not a wheel that pip can install: build it with `pip wheel --no-deps .`")
    check_metadata(_read(name, content, f"{next(iter(folders))}/METADATA"), name)


def _read(name: str, content: bytes, member: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(member) as stream:
            text = stream.read(_MOST_TEXT_BYTES + 1)
    except (*_DAMAGED, OSError, ValueError) as error:
        raise Refusal(400, f"{name} is damaged: {member} in it cannot be read ({error})") from None
    if len(text) > _MOST_TEXT_BYTES:
        raise Refusal(413, f"{member} in {name} has more than {_MOST_TEXT_BYTES >> 20} MB")
    return text


def _check_member(name: str, member: zipfile.ZipInfo) -> None:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    is_outside = path.is_absolute() or ".." in path.parts or ":" in member.filename or "\0" in member.filename
    kind = stat.S_IFMT(member.external_attr >> 16)
    if is_outside or kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Refusal(400, f"{name} has {member.filename[:80]!r} in it: only files and folders are allowed")
    if member.flag_bits & 1:
        raise Refusal(400, f"{name} is encrypted: pack it without a password")
    if member.compress_type not in _COMPRESSIONS:
        raise Refusal(400, f"{name} is compressed in a way that is not known: pack it with zip")


def unpacked(program: Program, folder: Path) -> Path:
    """Have a program in a folder, where it may be already; returns the folder."""
    if folder.exists():
        return folder
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    clear_scratch(str(folder.parent))
    # Elsewhere first: what is half unpacked is never run, and what runs already is not written again.
    draft = Path(make_scratch("program", str(folder.parent)))
    try:
        if program.is_archive:
            _unpack(program, draft)
        else:
            (draft / program.name).write_bytes(program.content)
        draft.rename(folder)
    except OSError as error:
        if not folder.exists():
            raise _not_unpacked(program, folder, error) from None
    except _DAMAGED as error:
        raise Refusal(400, f"{program.name} is damaged ({error}): pack it again") from None
    finally:
        remove_scratch(str(draft))
    return folder


def _not_unpacked(program: Program, folder: Path, error: OSError) -> Refusal:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Refusal(507, f"there is no space left in {folder.parent} for a program: free some, and submit it again")
    name = Path(str(error.filename)).name[:80]
    return Refusal(400, f"{program.name} cannot be unpacked: {error.strerror}, for {name!r} in it: rename or remove it")


def _unpack(program: Program, folder: Path) -> None:
    """The sizes in an archive are what it says of itself, so what really comes out is counted."""
    left = MOST_UNPACKED_BYTES
    with zipfile.ZipFile(io.BytesIO(program.content)) as archive:
        for member in archive.infolist():
            _check_member(program.name, member)
            target = folder / PurePosixPath(member.filename.replace("\\", "/"))
            if member.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, open(target, "wb") as sink:
                while piece := source.read(1 << 20):
                    left -= len(piece)
                    if left < 0:
                        raise Refusal(413, f"{program.name} is larger unpacked than it says")
                    sink.write(piece)


def entry_of(program: Program, folder: Path, wanted: str | None) -> list[str]:
    """How `penstock run` is told what to run: a script of the program, or a module of a wheel."""
    if program.is_wheel:
        if wanted is None:
            raise Refusal(400, f"{program.name} is a wheel: give the module to run as the entry")
        return ["-m", _module(wanted), "--"]
    if not program.is_archive:
        return ["--", str(folder / program.name)]
    names = [wanted] if wanted is not None else ["main.py", "__main__.py"]
    for name in names:
        path = (folder / name).resolve()
        if path.is_relative_to(folder.resolve()) and path.is_file():
            return ["--", str(path)]
    if wanted is not None and not wanted.endswith(".py"):
        return ["-m", _module(wanted), "--"]
    raise Refusal(400, f"{program.name} has no {' or '.join(names)} to run: name what to run with --entry")


def _module(name: str) -> str:
    if not all(part.isidentifier() for part in name.split(".")):
        raise Refusal(400, f"{name[:80]!r} is not the name of a module")
    return name


def requirements_of(program: Program, folder: Path) -> list[str]:
    """What has to be installed for a program: what was given with it, what it lists itself, and a wheel."""
    lines = program.requirements.splitlines()
    own = folder / _REQUIREMENTS
    if program.is_archive and own.is_file():
        lines += checked_requirements(own.read_text("utf-8", errors="replace")).splitlines()
    if program.is_wheel:
        lines.append(str(folder / program.name))
    return lines
