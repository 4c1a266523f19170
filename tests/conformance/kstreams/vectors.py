"""The measured vectors: cases with what Kafka Streams made of them, in `measured.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conformance.kstreams.programs import PROGRAMS, outputs

FILE = Path(__file__).with_name("measured.jsonl")


def write(cases: list[dict[str, Any]], answers: list[dict[str, Any]]) -> None:
    """Keep cases with their answers, a line each; descriptions once for a program."""
    described: set[str] = set()
    lines = []
    for case, answer in zip(cases, answers, strict=True):
        program = case["name"].rsplit("-", 1)[0]
        line = {"name": case["name"], "input": list(map(_packed, case["input"])), "output": answer["output"]}
        if program not in described:
            line["describe"] = answer["describe"]
            described.add(program)
        lines.append(json.dumps(line, separators=(",", ":")))
    FILE.write_text("\n".join(lines) + "\n")


def read() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Cases and answers; an answer without description has that of an earlier case."""
    found = []
    for line in FILE.read_text().splitlines():
        held = json.loads(line)
        program = PROGRAMS[held["name"].rsplit("-", 1)[0]]
        case = {
            "name": held["name"],
            "program": program,
            "input": list(map(_unpacked, held["input"])),
            "outputs": outputs(program),
        }
        found.append((case, held))
    return found


def _packed(event: dict[str, Any]) -> list[Any]:
    return [event["advance"]] if "advance" in event else [event[name] for name in ("topic", "key", "value", "ts")]


def _unpacked(event: list[Any]) -> dict[str, Any]:
    if len(event) == 1:
        return {"advance": event[0]}
    return dict(zip(("topic", "key", "value", "ts"), event, strict=True))
