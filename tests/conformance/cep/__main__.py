"""Play measured cases of patterns: `python -m tests.conformance.cep VECTORS.json [--engine spark]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.datastream import StreamExecutionEnvironment
from tests.conformance.cep.playing import KNOWN, Played, expected, play

ENGINES: dict[str, Callable[[], StreamExecutionEnvironment]] = {
    "in-process": StreamExecutionEnvironment.in_process,
    "spark": StreamExecutionEnvironment.get_execution_environment,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--engine", choices=sorted(ENGINES), default="in-process")
    arguments = parser.parse_args()
    cases = _cases(parser, arguments.vectors)
    failed = 0
    for number, (case, played) in enumerate(zip(cases, play(cases, ENGINES[arguments.engine]), strict=True)):
        failed += not played.agrees(case)
        _print(number, case, played)
    print(f"cep-vectors: {len(cases) - failed} passed, {failed} failed of {len(cases)}")
    return 1 if failed else 0


def _cases(parser: argparse.ArgumentParser, path: Path) -> list[Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        parser.error(f"{path}: {error}")
    cases = found.get("cases") if isinstance(found, dict) else found
    if not isinstance(cases, list):
        parser.error(f"{path}: expected a list of cases, or an object with 'cases'")
    return cases


def _print(number: int, case: Any, played: Played) -> None:
    is_case = isinstance(case, dict)
    what = f"{case.get('pattern')} [{case.get('skip', 'noSkip')}]" if is_case else repr(case)
    if played.agrees(case):
        print(f"pass {number}: {what}", flush=True)
        return
    print(f"FAIL {number}: {what}")
    if is_case and not played.unreadable:
        print(f"  events   {json.dumps(case['events'])}\n  expected {expected(case)}")
    print(f"  found    {played}", flush=True)
    unknown = sorted(set(case) - KNOWN) if is_case else []
    if unknown:
        print(f"  not understood, so left out: {', '.join(unknown)}")


sys.exit(main())
