"""Kafka, asynchronous calls, checkpoints and memory of Penstock alone: one sentence for each results file there is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.pages.section import Section, heading, rounded

COMMAND = "make bench-parts ARGS='--only kafka'"


def parts_section(folder: Path) -> Section:
    """Each sentence, and what it was measured on."""
    section = Section("Parts")
    section.add(f"Penstock alone; `{COMMAND}` measures one of them again, by its name here.")
    told = sentences(folder)
    for name in SENTENCES:
        content = results.read(name, folder)
        section.add(f"*{name}*: " + (f"{told[name]} {heading(content)}" if content else "not measured yet."))
    return section


def sentences(folder: Path) -> dict[str, str]:
    """What each results file says, by its name."""
    stored = {name: results.read(name, folder) for name in SENTENCES}
    return {name: SENTENCES[name](content) for name, content in stored.items() if content is not None}


def _kafka(content: dict[str, Any]) -> str:
    each = [
        f"{name}: {rounded(measured['records_per_second'])} records/s; at {content['rate']:,} records/s a record takes "
        f"{measured['p50_ms']:,} ms at the median, {measured['p99_ms']:,} ms at the 99th percentile"
        for name, measured in content["promises"].items()
    ]
    return f"From Kafka through a keyed count to Kafka, {'; '.join(each)}."


def _async(content: dict[str, Any]) -> str:
    took = " and ".join(f"{seconds:.2f} s {mode}" for mode, seconds in content["seconds"].items())
    return (
        f"{content['calls']:,} asynchronous calls of {content['wait_ms']:.0f} ms, {content['capacity']} at a time: "
        f"{took} (ideally {content['ideal_s']:.2f} s)."
    )


def _checkpoints(content: dict[str, Any]) -> str:
    largest = max(content["costs"], key=lambda cost: cost["keys"])
    return (
        f"A checkpoint of {largest['keys']:,} keys of which 1 % changed writes {largest['share_of_bytes']:.2%} of the "
        f"bytes in {largest['ms'] / 1000:.2f} s; without a local store they are back in "
        f"{largest['restore_ms'] / 1000:.1f} s."
    )


def _memory(content: dict[str, Any]) -> str:
    times = content["records"] / content["keys"]
    return (
        f"With {content['keys']:,} keys, each met {times:.0f} times, the largest Python worker has "
        f"{content['largest_worker_mb']:,} MB."
    )


SENTENCES: dict[str, Callable[[dict[str, Any]], str]] = {
    "kafka": _kafka,
    "async": _async,
    "checkpoints": _checkpoints,
    "memory": _memory,
}
