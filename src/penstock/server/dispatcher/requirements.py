"""What a program requires: names and versions of packages, and nothing that has pip read or run something else."""

from __future__ import annotations

import re
from email.parser import BytesHeaderParser

from penstock.server.answers import Refusal

_COMMENT = re.compile(r"(^|\s)#.*$")
# As PEP 508 has it, without URLs: a name, extras, versions, and for which Python or system it is meant.
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\s*(\[[A-Za-z0-9._,\s-]*\])?\s*(\(?[<>=!~][A-Za-z0-9.*+!<>=~,\s_-]*\)?)?\s*(;.*)?"
)
_OPTION = re.compile(r"(^|\s)-|[\x00-\x08\x0a-\x1f\x7f]")
"""What pip may take for an option of its own, behind a name or in place of it."""

_FILES = (".whl", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tlz", ".tar.lz")
"""pip takes such a name for that of a file if there is one where it runs."""


def checked_requirements(text: str, of: str = "") -> str:
    """Requirements a line each, without comments; raises Refusal. `of` says whose they are."""
    lines = [_COMMENT.sub("", line).strip() for line in text.removeprefix("\ufeff").splitlines()]
    kept = [line for line in lines if line]
    for line in kept:
        is_right = _REQUIREMENT.fullmatch(line) and not _OPTION.search(line)
        if not is_right or line.lower().endswith(_FILES):
            place = f" of {of}" if of else ""
            raise Refusal(
                400,
                f"requirement {line[:80]!r}{place}: only names and versions of packages are taken, such as "
                "numpy>=2; put what has to be fetched from elsewhere into the index that the server's pip uses",
            )
    return "\n".join(kept)


def check_metadata(content: bytes, of: str) -> None:
    """Look through what a wheel says that it requires; raises Refusal."""
    told = BytesHeaderParser().parsebytes(content)
    checked_requirements("\n".join(map(str, told.get_all("Requires-Dist", []))), of)
