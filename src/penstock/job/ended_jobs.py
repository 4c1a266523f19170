"""What is known of jobs that have ended on this machine: a folder of the user's with a document for each, the last ones.

A job leaves its document when it ends, whether somebody watches it or not; a dispatcher takes it into its own history.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
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
        # Names are in the order of time, which is the order in which they are forgotten.
        name = f"{int(document['now_ms']):015d}-{document['id'][:8]}-{uuid.uuid4().hex[:8]}"
        temporary = self.path / f".{name}.tmp"
        with open(temporary, "x", opener=open_private) as stream:
            json.dump(document, stream)
        temporary.replace(self.path / f"{name}{_SUFFIX}")
        for old in self._names()[:-KEPT]:
            with suppress(OSError):
                (self.path / old).unlink()

    def documents(self, after: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        """Names and documents, the oldest first; those that were left after the one of a name."""
        for name in self._names():
            if name > after:
                with suppress(OSError, ValueError):
                    yield name, json.loads((self.path / name).read_text())

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.path) if name.endswith(_SUFFIX) and name[0] != ".")
        except FileNotFoundError:
            return []
