"""Jobs that have ended on this machine: a folder of the user's with the documents of the last ones.

A job leaves its document when it ends, whether somebody watches it or not; a dispatcher takes it into its own history.
"""

from __future__ import annotations

import json
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.job.cards import user_folder
from penstock.scratch import make_private, open_private

KEPT = 50
_SUFFIX = ".json"


class EndedJobs:
    """The folder of documents; who keeps more than `KEPT` forgets the oldest."""

    def __init__(self, path: Path) -> None:
        """Take a folder that `of_this_user` or a test chose; it is made when it is needed."""
        self.path = path

    @classmethod
    def of_this_user(cls) -> EndedJobs:
        """The folder that all processes of the user find."""
        return cls(user_folder() / "ended")

    def keep(self, document: dict[str, Any]) -> None:
        """Write a document, whole or not at all."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private(str(self.path))
        # Names are in the order in which they are forgotten: that of time, or later than all if a clock was set back.
        last = int(next(iter(self.names()[-1:]), "0").partition("-")[0])
        name = f"{max(int(document['now_ms']), last + 1):015d}-{document['id'][:8]}-{uuid.uuid4().hex[:8]}"
        temporary = self.path / f".{name}.tmp"
        with open(temporary, "x", opener=open_private) as stream:
            json.dump(document, stream)
        temporary.replace(self.path / f"{name}{_SUFFIX}")
        for old in self.names()[:-KEPT]:
            with suppress(OSError):
                (self.path / old).unlink()

    def read(self, name: str) -> Any:
        """The document of a name; None if it is gone, or is none."""
        try:
            return json.loads((self.path / name).read_text())
        except (OSError, ValueError):
            return None

    def names(self) -> list[str]:
        """Names of what is there, the oldest first."""
        try:
            return sorted(name for name in os.listdir(self.path) if name.endswith(_SUFFIX) and name[0] != ".")
        except FileNotFoundError:
            return []
