"""Each event passes once, whatever was sent again; and nothing is remembered for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deduplication.generate import EVENTS, arrivals
from deduplication.job import REMEMBER_MS, TOO_OLD, Event, FirstOnly
from gallery.json_rows import read_rows
from gallery.readme_commands import ExampleRun


def expected() -> dict[str, list[Any]]:
    """What becomes of each arrival: the first copy passes, the others do not."""
    seen: set[str] = set()
    sorted_out: dict[str, list[Any]] = {"passed": [], "duplicate": [], "too_old": []}
    for event in arrivals():
        is_old = event["received_ms"] - event["at_ms"] > 2 * REMEMBER_MS
        kind = "too_old" if is_old else "duplicate" if event["event_id"] in seen else "passed"
        seen.add(event["event_id"])
        sorted_out[kind].append(tuple(event.values()))
    return {kind: sorted(found) for kind, found in sorted_out.items()}


def test_the_job_agrees_with_plain_python(example_run: ExampleRun) -> None:
    answer = expected()
    assert len(answer["passed"]) == EVENTS and len(answer["duplicate"]) > 300 and len(answer["too_old"]) > 5
    assert {
        kind: sorted(tuple(row.values()) for row in read_rows(example_run.output / kind)) for kind in answer
    } == answer


def test_an_id_is_forgotten_when_no_copy_is_expected_any_more(penstock_harness: Callable[..., Any]) -> None:
    harness = penstock_harness(FirstOnly(), key=lambda event: event.event_id, side_outputs=[TOO_OLD])
    event = Event("e1", "shop-1", 500, at_ms=1_000, received_ms=1_500)
    harness.process_element(event, timestamp=1_000)
    harness.process_watermark(1_000 + REMEMBER_MS - 1)
    harness.process_element(event, timestamp=1_000)
    assert harness.output_values() == [event]
    assert harness.num_keyed_state_entries() == 1
    harness.process_watermark(1_000 + REMEMBER_MS)
    assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0
    harness.process_element(event, timestamp=1_000)
    assert harness.output_values() == [event]
    assert harness.side_output_values(TOO_OLD) == [event]


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"
