"""`penstock state show` on savepoints and checkpoints of jobs that ran in process, against plain counting."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from penstock.cli.commands import app
from penstock.common import Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream import (
    BroadcastProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.keys.codec import encode_key
from penstock.savepoint import inspection
from penstock.savepoint.inspection import inspect
from penstock.testing import CollectSink, Cut, ScriptedSource

HOT = "hot"
KEYS = [HOT if n % 2 else f"key-{n % 40}" for n in range(200)]
RULES = MapStateDescriptor("rules")


@dataclass(frozen=True)
class Place:
    """A key of a class that only the program has."""

    name: str


class Keeping(KeyedProcessFunction):
    """Counts in a value, keeps all numbers in a map, appends in a list once for each batch, sets a timer for each."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.numbers = runtime_context.get_map_state(MapStateDescriptor("numbers"))
        self.names = runtime_context.get_list_state(ListStateDescriptor("names"))

    def process_element(self, value: tuple[Any, int], ctx: KeyedProcessFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)
        self.numbers.put(value[1], "x" * 10)
        self.names.add(value[1])
        ctx.timer_service().register_event_time_timer(5_000 + value[1])


class Ruled(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(value, value)
        yield from ()


def started(folder: Path, keys: list[Any]) -> Any:
    """A job that has run its first batch of two."""
    environment = StreamExecutionEnvironment.in_process().set_parallelism(2)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(str(folder / "checkpoint"))
    scripted = ScriptedSource([*((key, number) for number, key in enumerate(keys)), Cut(), (keys[0], 0)])
    records = environment.from_source(scripted, WatermarkStrategy.no_watermarks(), "records").uid("records")
    kept = records.key_by(lambda record: record[0]).process(Keeping()).uid("keeping").name("Keeping [all]")
    rules = environment.from_collection([1, 2, 3]).uid("list of rules").broadcast(RULES)
    kept.connect(rules).process(Ruled()).uid("ruled").add_sink(CollectSink()).uid("end")
    client: Any = environment.execute_async("state keeper")
    client.run_batch()
    return client


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A savepoint and a checkpoint that hold the same."""
    folder = tmp_path_factory.mktemp("state")
    path = started(folder, KEYS).trigger_savepoint(str(folder)).result()
    return {"savepoint": path, "checkpoint": str(folder / "checkpoint")}


def call(*words: str) -> Result:
    return CliRunner().invoke(app, ["state", "show", *words])


def plain(*words: str) -> dict[str, Any]:
    told = call(*words, "--json")
    assert told.exit_code == 0, told.output
    return dict(json.loads(told.stdout))


@pytest.mark.parametrize("kind", ["savepoint", "checkpoint"])
def test_the_figures_are_those_of_plain_counting(places: dict[str, str], kind: str) -> None:
    found = plain(places[kind], "--top", "3")
    assert (found["kind"], found["job_name"], found["version"]) == (kind, "state keeper", 0)
    operators = {each["uid"]: each for each in found["operators"]}
    assert operators["records"]["positions"] == [201]
    assert operators["records"]["states"] == []
    keeping = operators["keeping"]
    assert (keeping["name"], keeping["parallelism"], keeping["max_parallelism"]) == ("Keeping [all]", 2, 128)
    states = {each["name"]: each for each in keeping["states"]}
    assert list(states) == ["count", "names", "numbers", "__event_time_timers__"]
    expected = Counter(KEYS)
    assert (states["count"]["entries"], states["count"]["keys"]) == (len(expected), len(expected))
    assert (states["numbers"]["entries"], states["numbers"]["keys"]) == (200, len(expected))
    assert states["names"]["keys"] == len(expected)
    assert (states["count"]["type"], states["names"]["type"]) == ("LONG", None)
    assert states["count"]["key_groups"] == states["numbers"]["key_groups"]
    timers = states["__event_time_timers__"]
    assert (timers["entries"], timers["keys"], timers["next_timer_ms"]) == (200, None, 5_000)
    top = states["numbers"]["keys_with_most_entries"]
    assert [each["key"] for each in top][:1] == [repr(HOT)]
    assert [each["entries"] for each in top] == [count for _, count in expected.most_common(3)]
    assert [each["bytes"] for each in states["numbers"]["largest_keys"]] == sorted(
        (each["bytes"] for each in states["numbers"]["largest_keys"]), reverse=True
    )
    assert states["numbers"]["largest_keys"][0]["entries"] == 100
    (rules,) = operators["ruled"]["states"]
    assert (rules["kind"], rules["entries"], rules["keys"]) == ("broadcast", 6, None)  # a copy in each subtask


def test_bytes_are_those_of_the_rows(places: dict[str, str]) -> None:
    rows = pq.read_table(Path(places["savepoint"]) / "operators" / "keeping").to_pylist()
    (operator,) = inspect(places["savepoint"], operator="keeping", state="numbers", top=1).operators
    (state,) = operator.states
    mine = [row for row in rows if row["state"] == "numbers" and row["key_group"] is not None]
    parts = ("key", "namespace", "suffix", "value")
    assert state.bytes == sum(len(row[part]) for row in mine for part in parts)
    assert state.key_groups == len({row["key_group"] for row in mine})
    assert state.by_bytes[0].bytes == sum(
        len(row[part]) for row in mine if row["key"] == encode_key(HOT) for part in parts
    )


def test_savepoint_and_checkpoint_look_the_same(places: dict[str, str]) -> None:
    first, second = (inspect(place, top=4).operators for place in places.values())
    assert [(each.uid, each.states) for each in first] == [(each.uid, each.states) for each in second]


def test_what_a_person_sees(places: dict[str, str]) -> None:
    lines = call(places["savepoint"], "--top", "1").stdout.splitlines()
    assert lines[0] == f"savepoint {places['savepoint']}"
    assert lines[1].startswith("job 'state keeper' (") and lines[1].endswith("), version 0")
    assert "  positions of 1 splits: 201" in lines
    (head,) = [line for line in lines if line.startswith("operator keeping")]
    assert head == ("operator keeping: Keeping [all] (keyed process), parallelism 2, 128 key groups, watermark -")
    table = [line.split() for line in lines]
    assert ["STATE", "KIND", "ENTRIES", "BYTES", "KEYS", "KEY", "GROUPS", "NEXT", "TIMER", "TYPE"] in table
    assert any(row[:4] == ["(event", "time)", "timer", "200"] for row in table)
    assert any(row[:3] == ["numbers", "'hot'", "100"] for row in table)


def test_a_checkpoint_tells_its_versions(places: dict[str, str]) -> None:
    (version,) = plain(places["checkpoint"])["versions"]
    files = list(Path(places["checkpoint"]).rglob("*.snapshot"))
    assert (version["version"], version["files"]) == (0, len(files))
    assert version["bytes"] == sum(file.stat().st_size for file in files)
    assert version["sealed_ms"] > 1_700_000_000_000
    assert "VERSION  FILES" in call(places["checkpoint"]).stdout


def test_positions_of_named_partitions_and_of_spark(places: dict[str, str], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(places["savepoint"], copy)
    told = json.loads((copy / "savepoint.json").read_text())
    told |= {
        "partitions": {"records": {f"orders-{n}": n * 7 for n in range(12)}},
        "frames": {"end": ['{"a": 1}', None]},
    }
    told["operators"]["end"] = {**told["operators"]["records"], "name": "read by Spark"}
    (copy / "savepoint.json").write_text(json.dumps(told))
    lines = call(str(copy)).stdout.splitlines()
    (named,) = [line for line in lines if "12 partitions" in line]
    assert named.startswith("  positions of 12 partitions: orders-0: 0, orders-1: 7, ") and named.endswith(", ...")
    assert '  positions by Spark: {"a": 1}, None' in lines
    found = {each["uid"]: each for each in plain(str(copy))["operators"]}
    assert found["records"]["partitions"]["orders-11"] == 77
    assert found["end"]["spark_positions"] == ['{"a": 1}', None]


def test_one_operator_one_state(places: dict[str, str]) -> None:
    found = plain(places["savepoint"], "--operator", "keeping", "--state", "count", "--top", "0")
    (operator,) = found["operators"]
    (state,) = operator["states"]
    assert (operator["uid"], state["name"], state["largest_keys"]) == ("keeping", "count", [])
    assert "operator keeping" in call(places["checkpoint"], "--state", "count").stdout
    assert "operator ruled" not in call(places["checkpoint"], "--state", "count").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--operator", "gone"), "has no operator with uid 'gone'; there are "),
        (("--state", "gone"), "has no state 'gone'; leave out --state to see all states"),
    ],
)
def test_what_is_not_there_is_told(places: dict[str, str], words: tuple[str, ...], message: str) -> None:
    told = call(places["savepoint"], *words)
    assert told.exit_code == 1
    assert message in told.stderr and told.stdout == "" and told.stderr.count("\n") == 1


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("kind", "pattern", "message"),
    [
        ("savepoint", "part-0.parquet", "is damaged (its checksum does not match): use another savepoint"),
        ("savepoint", "savepoint.json", "is damaged: it does not describe a savepoint"),
        ("checkpoint", "*.snapshot", "damaged"),
        ("checkpoint", "*.seal", "is damaged or truncated: its checksum does not match"),
    ],
)
def test_damage_is_told_in_one_line(
    places: dict[str, str], tmp_path: Path, kind: str, pattern: str, message: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(places[kind], copy)
    victim = sorted(copy.rglob(pattern))[0]
    if victim.suffix == ".json":
        victim.write_text(victim.read_text()[:100])
    else:
        damage(victim)
    told = call(str(copy))
    assert (told.exit_code, told.stdout) == (1, "")
    assert message in told.stderr and told.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"), [("nothing", "there is no savepoint or"), ("empty", "not a complete save")]
)
def test_no_state_at_all(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    told = call(str(tmp_path / name))
    assert told.exit_code == 1 and message in told.stderr


def test_a_job_file_that_tells_too_little(tmp_path: Path, places: dict[str, str]) -> None:
    shutil.copytree(places["checkpoint"], tmp_path / "copy")
    (tmp_path / "copy" / "penstock" / "job.json").write_text("{}")
    told = call(str(tmp_path / "copy"))
    assert told.exit_code == 1 and "it does not describe a job" in told.stderr


def test_keys_of_classes_that_are_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = started(tmp_path, [Place("a"), Place("b")])
    path = client.trigger_savepoint(str(tmp_path)).result()
    assert "Place(name='a')" in call(path).stdout
    shown = f"0x{encode_key(Place('a')).hex()}"[:57]
    monkeypatch.setattr("penstock.keys.classes._CLASSES", {})
    monkeypatch.delattr(sys.modules[__name__], "Place")
    assert shown in call(path).stdout
    told = call(str(tmp_path / "checkpoint"))
    assert told.exit_code == 1
    assert "put its modules on PYTHONPATH; for classes of the script itself, take a savepoint" in told.stderr


def test_a_job_that_goes_on_meanwhile_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = started(tmp_path, KEYS)
    checkpoint = tmp_path / "checkpoint"
    real, tries = inspection._inspected, []

    def overtaken(origin: Any, *arguments: Any) -> Any:
        tries.append(origin.manifest.version)
        if len(tries) == 1:
            client.run_batch()
            raise inspection.CheckpointError("a file is gone")
        return real(origin, *arguments)

    monkeypatch.setattr(inspection, "_inspected", overtaken)
    assert inspect(str(checkpoint)).manifest.version == 1
    assert tries == [0, 1]


def test_a_job_that_is_too_fast_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started(tmp_path, KEYS)

    def fail(*arguments: Any) -> Any:
        raise inspection.CheckpointError("a file is gone")

    monkeypatch.setattr(inspection, "_inspected", fail)
    with pytest.raises(inspection.CheckpointError, match="a file is gone"):  # nobody has overtaken it
        inspect(str(tmp_path / "checkpoint"))
    monkeypatch.setattr(inspection, "_was_overtaken", lambda origin: True)
    with pytest.raises(inspection.CheckpointError, match="faster than its state can be read: take a savepoint"):
        inspect(str(tmp_path / "checkpoint"))
