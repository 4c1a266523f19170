"""An outside system with transactions, as a file: the reference publisher of staged sinks; it may die at any step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from penstock.connectors.sink import RecordError, SinkContext
from penstock.connectors.staged_sink import Marker, Publication, Publisher, RecordEncoder, StagedSink
from penstock.testing.crashes import InjectedCrash


class OutsideSystem:
    """Records and markers in one file that is replaced as a whole; a transaction is one replacement."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        return json.loads(self.path.read_text()) if self.path.exists() else {"records": [], "markers": {}, "commits": 0}

    def records(self) -> list[Any]:
        return self.read()["records"]  # type: ignore[no-any-return]

    def replace(self, content: dict[str, Any]) -> None:
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(content))
        os.replace(temporary, self.path)


class Steps:
    """Counts the steps of all publishers of a test, and says at which the process dies."""

    def __init__(self, *crash_at: int) -> None:
        self.crash_at = crash_at
        self.taken: list[str] = []

    def step(self, what: str) -> None:
        self.taken.append(what)
        if len(self.taken) in self.crash_at:
            raise InjectedCrash(what)


class FilePublisher(Publisher):
    """Does what `Publisher.publish` asks for, in that order."""

    def __init__(self, system: OutsideSystem, steps: Steps) -> None:
        self.system = system
        self.steps = steps

    def publish(self, publication: Publication) -> None:
        self.steps.step("read the marker")
        content = self.system.read()
        owner = f"{publication.job_id}/{publication.uid}/{publication.part}"
        found = content["markers"].get(owner)
        if publication.is_done(None if found is None else Marker.from_text(found)):
            self.steps.step("skip")
            return
        for block in publication.blocks():
            self.steps.step("write a block")
            content["records"] += block
        content["markers"][owner] = publication.marker.to_text()
        content["commits"] += 1
        self.steps.step("commit")
        self.system.replace(content)
        self.steps.step("committed")


class TextEncoder(RecordEncoder):
    def encode(self, values: list[Any], timestamps: list[int | None] | None) -> list[str]:
        encoded = []
        for value in values:
            try:
                encoded.append(str(value))
            except Exception as error:
                raise RecordError(value) from error
        return encoded


class OutsideSink(StagedSink):
    """A sink to an outside system; `inline_bytes` 0 puts every stage into a file."""

    def __init__(self, system: OutsideSystem, steps: Steps | None = None, *, inline_bytes: int = 64 * 1024) -> None:
        self.system = system
        self.steps = steps or Steps()
        self.inline_bytes = inline_bytes

    def create_encoder(self, context: SinkContext) -> RecordEncoder:
        return TextEncoder()

    def create_publisher(self) -> Publisher:
        return FilePublisher(self.system, self.steps)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies in tasks only encode; the one that publishes is never copied.
        return _sink_of_a_task, (self.system.path, self.inline_bytes)


def _sink_of_a_task(path: Path, inline_bytes: int) -> OutsideSink:
    return OutsideSink(OutsideSystem(path), inline_bytes=inline_bytes)
