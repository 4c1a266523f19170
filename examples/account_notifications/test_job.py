"""Notifications by the job are those of a loop over the sorted ledger; the function alone is tested in a harness."""

from __future__ import annotations

from typing import Any

from account_notifications.generate import commands, transfers
from account_notifications.job import COMMANDS, QUIET_MS, Command, Notify, Transfer
from gallery.json_rows import read_rows
from gallery.readme_commands import ExampleRun

from penstock.runtime.operators import KeyedBroadcastProcessOperator
from penstock.testing import KeyedTwoInputHarness


def expected() -> list[tuple[Any, ...]]:
    """The ledger from its first block to its last."""
    found, accounts = (
        [],
        {transfer["account"]: {"balance": 0, "told": -QUIET_MS, "untold": 0} for transfer in transfers()},
    )
    for transfer in sorted(transfers(), key=lambda transfer: int(transfer["id"])):
        account = accounts[transfer["account"]]
        account["balance"] += transfer["amount"]
        above = None
        for command in commands():  # by time
            if command["at_ms"] <= transfer["at_ms"] and command["account"] in ("*", transfer["account"]):
                above = command["above"]
        if above is None or abs(transfer["amount"]) < above:
            continue
        if transfer["at_ms"] < account["told"] + QUIET_MS:
            account["untold"] += 1
            continue
        found.append((*transfer.values(), account["balance"], account["untold"]))
        account.update(told=transfer["at_ms"], untold=0)
    return sorted(found)


def test_the_job_agrees_with_plain_python(example_run: ExampleRun) -> None:
    answer = expected()
    assert len(answer) > 50 and sum(row[-1] for row in answer) > 5
    assert sorted(tuple(row.values()) for row in read_rows(example_run.output / "notifications")) == answer


def notify_harness(**settings: Any) -> Any:
    operator = KeyedBroadcastProcessOperator(Notify(), [COMMANDS])
    return KeyedTwoInputHarness(operator, key1=lambda transfer: transfer.account, **settings)


def transfer(amount: int, at_ms: int, account: str = "a") -> Transfer:
    return Transfer(at_ms, 1, account, amount, at_ms)


def test_a_command_counts_for_later_transfers_whichever_comes_first() -> None:
    with notify_harness() as harness:
        harness.process_element1(transfer(70, 2_000), timestamp=2_000)
        harness.process_element1(transfer(90, 1_000), timestamp=1_000)
        harness.process_watermark1(9_000)
        assert harness.output_values() == []  # the commands may still come
        harness.process_element2(Command("a", 50, 1_500), timestamp=1_500)
        harness.process_watermark2(9_000)
        (told,) = harness.output_values()
        assert (told.amount, told.balance) == (70, 160)


def test_each_account_has_its_own_state_and_commands_reach_all_of_them() -> None:
    with notify_harness() as harness:
        harness.process_element2(Command("*", 10, 0), timestamp=0)
        for at_ms, account in ((1_000, "a"), (2_000, "a"), (3_000, "b")):
            harness.process_element1(transfer(20, at_ms, account), timestamp=at_ms)
        harness.process_watermark(9_000)
        assert [(row.account, row.balance) for row in harness.output_values()] == [("a", 20), ("b", 20)]
        assert (harness.state("a", "balance"), harness.state("a", "untold"), harness.state("b", "untold")) == (40, 1, 0)


def test_commands_and_accounts_survive_a_restart() -> None:
    with notify_harness() as before:
        before.process_element2(Command("a", 10, 0), timestamp=0)
        before.process_element1(transfer(20, 1_000), timestamp=1_000)
        snapshot = before.snapshot()
    after = notify_harness()
    after.restore(snapshot)
    with after:
        after.process_element1(transfer(30, 2_000 + QUIET_MS), timestamp=2_000 + QUIET_MS)
        after.process_watermark(3_000 + QUIET_MS)
        assert [row.balance for row in after.output_values()] == [20, 50]
        assert after.num_event_time_timers() == 0


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"
