"""A program that goes on by itself: started as a process of its own, watched until its job is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from penstock.cli.driver_main import NO_FILE
from penstock.cli.program import Program
from penstock.common.configuration import Configuration
from penstock.job.cards import CardFolder, JobCard, user_folder
from penstock.job.document import LOG_FILE
from penstock.scratch import make_private, open_private
from penstock.server.dispatcher.processes import DRIVER_MODULE

_LOOK_SECONDS = 0.1
_TAIL_LINES = 30


class DetachedProgram:
    """A program that another process runs."""

    def __init__(self, program: Program, configuration: Configuration, log: Path | None) -> None:
        """Start it; its output goes to the log."""
        self._folder = CardFolder.of_this_user()
        self._folder.open()
        self.log = _new_log(program.target) if log is None else log
        settings = [f"-D{key}={value}" for key, value in configuration.to_dict().items()]
        target = ["-m", program.target, "--"] if program.is_module else ["--", program.target]
        # Settings and arguments may have secrets in them, and everybody on the machine can read command lines.
        command = [sys.executable, "-u", "-m", DRIVER_MODULE, NO_FILE]
        arguments = json.dumps(["run", *settings, *target, *program.arguments]).encode()
        with open(self.log, "ab", opener=open_private) as stream:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                env={**os.environ, LOG_FILE: str(self.log.absolute())},
            )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as channel:
            channel.write(arguments)

    def await_job(self) -> JobCard | int:
        """Wait until the program has started a job, or has ended: then its exit code."""
        while True:
            try:
                return self._process.wait(_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                for card in self._folder.cards():
                    if card.pid == self._process.pid:
                        self._process.returncode = 0  # it outlives us: nobody here will wait for it
                        return card

    def tail(self) -> str:
        """The last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])


def _new_log(target: str) -> Path:
    folder = user_folder() / "logs"
    make_private(str(folder))
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S-%f")
    return folder / f"{Path(target).stem}-{stamp}.log"
