"""The file sink is exactly-once: through failed tries, repeated commits and crashes the files equal the oracle."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.serialization import Encoder
from penstock.connectors.files import sink as file_sink_module
from penstock.connectors.files.bucketing import BucketAssigner
from penstock.connectors.files.rolling import RollingPolicy
from penstock.connectors.files.sink import STAGING
from penstock.datastream.connectors.file_system import FileSink, OutputFileConfig
from penstock.errors import ConfigurationError, SinkError
from tests.unit.connectors.file_sink_job import FileSinkJob, published, published_of, staged

ON_CHECKPOINT = RollingPolicy.on_checkpoint_rolling_policy()
FAILURES = ["killed while writing", "killed when prepared", "aborted while writing", "aborted when prepared"]


def text_lines(path: Path) -> list:
    return [json.loads(line) for line in path.read_text().splitlines()]


def csv_records(path: Path) -> list:
    rows = list(csv.DictReader(io.StringIO(path.read_text(), newline="")))
    return [{"id": int(row["id"]), "name": row["name"] or None} for row in rows]


FORMATS = {
    "text": (lambda path, **s: FileSink.text(path, lambda v: json.dumps(v).encode() + b"\n", **s), text_lines),
    "json": (FileSink.json, text_lines),
    "csv": (lambda path, **s: FileSink.csv(path, header=True, **s), csv_records),
    "parquet": (FileSink.parquet, lambda path: pq.read_table(path).to_pylist()),
}

records = st.fixed_dictionaries(
    {"id": st.integers(-(2**63), 2**63 - 1), "name": st.none() | st.text("aé\n\",'", min_size=1, max_size=4)}
)
blocks = st.lists(st.lists(records, max_size=4), max_size=3)
batches = st.lists(
    st.fixed_dictionaries(
        {
            "blocks": st.tuples(blocks, blocks).map(list),
            "failures": st.lists(st.sampled_from(FAILURES), max_size=2).map(tuple),
            "commits": st.lists(st.floats(0, 1), max_size=2).map(lambda shares: (*shares, 1.0)),
            "fresh_process": st.booleans(),
        }
    ),
    max_size=6,
)
policies = st.just(ON_CHECKPOINT) | st.builds(
    RollingPolicy.default_rolling_policy, st.integers(1, 300), st.integers(1, 40), st.integers(1, 40)
)


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=10)
@given(plan=batches, policy=policies, step_ms=st.integers(0, 30), last=st.booleans())
def test_published_files_equal_the_oracle(kind, plan, policy, step_ms, last):
    make, read = FORMATS[kind]
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "out"
        job = FileSinkJob(make(base, rolling_policy=policy))
        for batch in [*plan, {"blocks": [[], []], "failures": tuple(FAILURES) if last else ()}]:
            job.now_ms += step_ms
            job.batch(**batch, end=job.version == len(plan))
            for subtask in (0, 1):
                shown = [record for path in published_of(base, subtask) for record in read(path)]
                assert shown == job.written[subtask][: len(shown)], "published out of order, twice or not written"
                pending = 0 if policy is ON_CHECKPOINT else len(job.written[subtask])
                assert len(shown) + pending >= len(job.written[subtask]), "published too late"
        for subtask in (0, 1):
            assert [r for path in published_of(base, subtask) for r in read(path)] == job.written[subtask]
        assert not (base / STAGING).exists()


@pytest.fixture
def base(tmp_path):
    return tmp_path / "out"


def contents(base: Path) -> list[list[str]]:
    return [path.read_text().splitlines() for path in published(base)]


def one(*values):
    """Blocks of a job with one subtask."""
    return [[list(values)]]


def test_parts_grow_over_batches_until_they_are_too_old(base):
    policy = RollingPolicy.default_rolling_policy(10**6, 100, 60)
    job = FileSinkJob(FileSink.text(base, rolling_policy=policy), parallelism=1)
    start = job.now_ms
    job.batch(one("a"))
    assert job.deadlines == [start + 60]
    job.now_ms = start + 50
    job.batch(one("b"))
    assert job.deadlines == [start + 100]
    job.now_ms = start + 99
    job.batch(one())
    assert contents(base) == [] and len(staged(base)) == 2
    job.now_ms = start + 100
    job.batch(one("c"))
    assert contents(base) == [["a", "b", "c"]] and staged(base) == [] and job.deadlines == [None]


def test_inactive_parts_are_published(base):
    policy = RollingPolicy.default_rolling_policy(10**6, 1000, 60)
    job = FileSinkJob(FileSink.text(base, rolling_policy=policy), parallelism=1)
    job.batch(one("a"))
    job.now_ms += 59
    job.batch(one())
    assert contents(base) == []
    job.now_ms += 1
    job.batch(one())
    assert contents(base) == [["a"]]


def test_full_parts_are_finished_inside_a_batch(base):
    policy = RollingPolicy.default_rolling_policy(4)
    job = FileSinkJob(FileSink.text(base, rolling_policy=policy), parallelism=1)
    job.batch([[["a"], ["b"], ["c"], ["d"], ["e"]]])
    assert contents(base) == [["a", "b"], ["c", "d"]]
    job.batch(one("f"))
    assert contents(base)[2:] == [["e", "f"]]


def test_names_are_the_same_in_every_try_and_carry_prefix_and_suffix(base):
    sink = FileSink.text(base, rolling_policy=ON_CHECKPOINT, part_prefix="out", part_suffix=".log")
    job = FileSinkJob(sink, parallelism=1)
    first = job.attempt(one("a"))
    second = job.attempt(one("a"))
    assert [c.final for c in first] == [c.final for c in second]
    assert first[0].staged != second[0].staged
    assert first[0].final.startswith("out-") and first[0].final.endswith("-0-0-0.log")


def test_two_jobs_and_two_sinks_may_share_a_directory(base):
    for job_id, uid in (("first", "a"), ("first", "b"), ("second", "a")):
        job = FileSinkJob(FileSink.text(base), parallelism=1, job_id=job_id, uid=uid)
        job.batch(one(f"{job_id} {uid}"), end=True)
    assert sorted(contents(base)) == [["first a"], ["first b"], ["second a"]]


def test_one_job_leaves_the_staged_files_of_another_alone(base):
    waiting = FileSinkJob(FileSink.text(base), parallelism=1, job_id="waiting")
    waiting.batch(one("a"))
    other = FileSinkJob(FileSink.text(base), parallelism=1, job_id="other")
    other.batch(one("b"), end=True)
    waiting.batch(one(), end=True)
    assert sorted(contents(base)) == [["a"], ["b"]]


def test_a_twin_of_the_running_try_keeps_its_files(base):
    job = FileSinkJob(FileSink.text(base, rolling_policy=ON_CHECKPOINT), parallelism=1)
    winner = job.attempt(one("a"))
    assert job.attempt(one("a"), fail="killed when prepared") is None
    job.sink.create_committer().commit(winner)
    assert contents(base) == [["a"]]


def test_files_of_a_killed_try_go_with_the_next_batch(base):
    job = FileSinkJob(FileSink.text(base, rolling_policy=ON_CHECKPOINT), parallelism=1)
    job.batch(one("a"), failures=("killed when prepared", "killed while writing"))
    assert len(staged(base)) == 2
    job.batch(one("b"))
    assert staged(base) == []


def test_an_aborted_try_leaves_nothing_but_what_earlier_batches_staged(base):
    job = FileSinkJob(FileSink.text(base), parallelism=1)
    job.batch(one("a"))
    before = staged(base)
    job.attempt(one("b"), end=True, fail="aborted when prepared")
    assert staged(base) == before


def test_commit_says_so_when_the_file_is_gone(base):
    job = FileSinkJob(FileSink.text(base, rolling_policy=ON_CHECKPOINT), parallelism=1)
    committables = job.attempt(one("a"))
    shutil.rmtree(base / STAGING)
    with pytest.raises(SinkError, match=r"cannot publish .* its staged file .* is gone"):
        job.sink.create_committer().commit(committables)


def test_commit_may_be_repeated_when_a_reader_took_the_file_away(base):
    job = FileSinkJob(FileSink.text(base, rolling_policy=ON_CHECKPOINT), parallelism=1)
    committables = job.attempt(one("a"))
    job.sink.create_committer().commit(committables)
    (published,) = [path for path in base.iterdir() if path.is_file()]
    published.unlink()
    job.sink.create_committer().commit_again(committables)
    assert not [path for path in base.iterdir() if path.is_file()]


def test_merge_says_so_when_a_staged_part_is_gone(base):
    job = FileSinkJob(FileSink.text(base), parallelism=1)
    job.batch(one("a"))
    shutil.rmtree(base / STAGING)
    with pytest.raises(SinkError, match=r"'orders' cannot finish a file .* is gone"):
        job.batch(one("b"), end=True)


def test_a_change_of_parallelism_leaves_the_staged_files_of_before(base):
    two = FileSinkJob(FileSink.text(base), parallelism=2)
    two.batch([[["a"]], [["b"]]])
    four = FileSinkJob(FileSink.text(base), parallelism=4)
    four.version, four.states = two.version, [None, None, two.states[0], two.states[1]]
    four.batch([[], [], [], [["c"]]], end=True)
    assert sorted(contents(base)) == [["a"], ["b", "c"]]


def test_buckets_by_a_function_of_the_record(base):
    sink = FileSink.json(base, bucket_assigner=BucketAssigner.by(lambda r: f"day={r['day']}/h={r['h']}"))
    job = FileSinkJob(sink, parallelism=1)
    job.batch(one({"day": 1, "h": 2}, {"day": 2, "h": 2}, {"day": 1, "h": 2}))
    job.batch(one({"day": 2, "h": 2}), end=True)
    assert {str(path.parent.relative_to(base)): len(text_lines(path)) for path in published(base)} == {
        "day=1/h=2": 2,
        "day=2/h=2": 2,
    }


def test_more_buckets_than_open_files(base, monkeypatch):
    monkeypatch.setattr(file_sink_module, "OPEN_CHUNKS_MAX", 3)
    sink = FileSink.text(base, bucket_assigner=BucketAssigner.by(lambda v: v % 10), rolling_policy=ON_CHECKPOINT)
    job = FileSinkJob(sink, parallelism=1)
    committables = job.batch([[list(range(100)), list(range(100, 200))]])
    assert all(len(committable.merged) == 2 for committable in committables), "a chunk stayed open past the limit"
    assert {path.parent.name: list(map(int, path.read_text().split())) for path in published(base)} == {
        str(bucket): list(range(bucket, 200, 10)) for bucket in range(10)
    }
    assert staged(base) == []


def test_hour_buckets_by_processing_time(base):
    assigner = BucketAssigner.date_time_bucket_assigner("yyyy-MM-dd--HH'h'", "Asia/Tokyo")
    object.__setattr__(assigner, "clock", lambda: 1_700_000_000_000)
    job = FileSinkJob(FileSink.text(base, bucket_assigner=assigner), parallelism=1)
    job.batch(one("a"), end=True)
    assert [path.parent.name for path in published(base)] == ["2023-11-15--07h"]


@pytest.mark.parametrize("bucket", ["../up", "/root", "a//b", ".hidden", "_skipped", "a/", "nul\0", "x" * 300])
def test_buckets_that_readers_would_miss_are_refused(base, bucket):
    job = FileSinkJob(FileSink.text(base, bucket_assigner=BucketAssigner.by(lambda v: bucket)), parallelism=1)
    with pytest.raises(SinkError, match=r"'orders'.*cannot be a bucket"):
        job.attempt(one("a"))


def test_odd_names_of_job_and_operator_stay_inside_the_staging_folder(base):
    job = FileSinkJob(FileSink.text(base), parallelism=1, job_id="../..", uid="a/b " + "ü" * 300)
    job.batch(one("a"))
    assert len(staged(base)) == 1
    job.batch(one(), end=True)
    assert contents(base) == [["a"]] and not (base / STAGING).exists()


def test_file_uri_and_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for location in (f"file://{tmp_path}/a", "b", f"file:{tmp_path}/c"):
        FileSinkJob(FileSink.text(location), parallelism=1).batch(one("x"), end=True)
    assert [contents(tmp_path / name) for name in "abc"] == [[["x"]]] * 3


def test_validate_names_sink_and_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match=r"'orders' cannot write to .*file"):
        FileSink.text(tmp_path / "file").validate("orders")
    FileSink.text(tmp_path / "new").validate("orders")
    assert list((tmp_path / "new").iterdir()) == []


def test_validate_leaves_staged_files_alone(base):
    job = FileSinkJob(FileSink.text(base), parallelism=1)
    job.batch(one("a"))
    job.sink.validate("orders")
    assert len(staged(base)) == 1


def test_pyflink_builders(base):
    config = OutputFileConfig.builder().with_part_prefix("p").with_part_suffix(".txt").build()
    sink = (
        FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(1))
        .with_output_file_config(config)
        .with_bucket_check_interval(1000)
        .build()
    )
    FileSinkJob(sink, parallelism=1).batch(one("a", "b"))
    [path] = published(base)
    assert path.read_text() == "a\nb\n" and path.name.startswith("p-") and path.suffix == ".txt"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FileSink.text(""), "must not be empty"),
        (lambda: FileSink.text("x", part_prefix="_x"), "part prefix"),
        (lambda: FileSink.text("x", part_suffix="a/b"), "part suffix"),
        (lambda: FileSink.csv("x", delimiter=";;"), "one character"),
        (lambda: FileSink.text("nosuch://x/y"), "No file system"),
        (lambda: FileSink.for_row_format("x", str), "needs a Encoder"),
        (lambda: FileSink.for_bulk_format("x", str), "needs a FileFormat"),
        (lambda: RollingPolicy.default_rolling_policy(0), "part_size"),
        (lambda: BucketAssigner.date_time_bucket_assigner("QQ"), "'QQ' in the date pattern"),
        (lambda: BucketAssigner.date_time_bucket_assigner(timezone_id="Mars/X"), "Unknown time zone"),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(ConfigurationError, match=words):
        make()


def test_a_relative_path_means_the_directory_the_program_was_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = FileSinkJob(FileSink.text("out"), parallelism=1)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # as a worker of Spark may be
    job.batch(one("a"), end=True)
    assert [path.read_text() for path in (tmp_path / "out").iterdir() if path.is_file()] == ["a\n"]
