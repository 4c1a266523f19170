"""Which of the files that take long `make test` runs: those whose subject has changed.

`pytest --chosen` asks git what has changed: since `--base REV`, or since this branch left the one that it follows, or
in the last commit. A changed file below `src` chooses the tests of its subjects, see `SUBJECTS`; a changed file of
tests chooses itself, and one that tests share chooses the files of its folder. Some run whatever has changed. Quick
tests of these files always run, and `make test ALL=1`, which CI runs, leaves out nothing.

Add a new file that takes more than ten seconds to a subject; `tests/unit/test_chosen.py` tells if one is missing.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path


@dataclass(frozen=True)
class Subject:
    """Sources that belong together, and the files of tests that show whether they still work on engines and servers.

    Both are paths below the root, with `*` for anything.
    """

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def is_touched_by(self, path: str) -> bool:
        """Whether a changed file is of this subject."""
        return _matches(path, self.sources)


ALWAYS = ("tests/spark/test_state_and_time.py", "tests/spark/test_user_functions.py")
"""Run whatever has changed."""

SUBJECTS = (
    Subject(
        "versions that are made final, also when processes die",
        (
            "src/penstock/checkpoint/*",
            "src/penstock/state/*",
            "src/penstock/storage/*",
            "src/penstock/job/versions.py",
            "src/penstock/job/driver.py",
            "src/penstock/job/restarts.py",
            "src/penstock/job/patience.py",
            "src/penstock/job/engine_contract.py",
            "src/penstock/job/program.py",
            "src/penstock/engine/spark/*",
        ),
        (
            "tests/simulation/test_resume_matrix.py",
            "tests/spark/test_kill_checkpoint.py",
            "tests/spark/test_kill_driver.py",
            "tests/spark/test_kill_oracles.py",
            "tests/spark/test_kill_worker.py",
            "tests/spark/test_lost_java.py",
            "tests/spark/test_resume_matrix.py",
            "tests/unit/state/test_versions_growth.py",
        ),
    ),
    Subject(
        "jobs on Spark",
        ("src/penstock/engine/*", "src/penstock/job/*", "src/penstock/runtime/*", "src/penstock/keys/*"),
        (
            "tests/conformance/test_pyflink_programs.py",
            "tests/spark/test_backpressure.py",
            "tests/spark/test_batch_cuts.py",
            "tests/spark/test_distribution.py",
            "tests/spark/test_document.py",
            "tests/spark/test_ends.py",
            "tests/spark/test_failures.py",
            "tests/spark/test_life_cycle.py",
            "tests/spark/test_names.py",
            "tests/spark/test_privacy.py",
            "tests/spark/test_sharing_of_records.py",
            "tests/spark/test_shipped_files.py",
            "tests/spark/test_troubles.py",
            "tests/spark/test_worker_daemon.py",
        ),
    ),
    Subject(
        "operators",
        (
            "src/penstock/runtime/*",
            "src/penstock/state/*",
            "src/penstock/common/*",
            "src/penstock/datastream/*",
            "src/penstock/vocabulary/*",
            "src/penstock/graph/*",
            "tests/transcripts/*",
        ),
        (
            "tests/spark/test_columns.py",
            "tests/spark/test_declared_types.py",
            "tests/spark/test_field_aggregates.py",
            "tests/spark/test_transformations.py",
            "tests/spark/test_types_of_state.py",
            "tests/transcripts/test_on_spark.py",
        ),
    ),
    Subject(
        "continuous mode",
        (
            "src/penstock/job/continuous/*",
            "src/penstock/runtime/continuous/*",
            "src/penstock/engine/spark/continuous/*",
            "src/penstock/engine/in_process/continuous.py",
            "src/penstock/runtime/batch_run.py",
            "src/penstock/runtime/subtask.py",
        ),
        (
            "tests/kafka/test_continuous_sink.py",
            "tests/spark/test_continuous.py",
            "tests/spark/test_everything_continuous.py",
            "tests/transcripts/test_continuous_on_spark.py",
        ),
    ),
    Subject(
        "ways to start a program",
        (
            "src/penstock/cli/*",
            "src/penstock/engine/spark/startup/*",
            "src/penstock/engine/spark/engine.py",
            "src/penstock/job/notebook.py",
            "src/penstock/java.py",
            "src/penstock/user_cache.py",
            "src/penstock/testing/*",
            "src/penstock/__*.py",
        ),
        (
            "tests/spark/test_cached_streams.py",
            "tests/spark/test_cli.py",
            "tests/spark/test_demo.py",
            "tests/spark/test_doors.py",
            "tests/spark/test_fast_start.py",
            "tests/spark/test_notebook.py",
            "tests/spark/test_plugin.py",
            "tests/spark/test_sql_shell.py",
        ),
    ),
    Subject(
        "clusters",
        (
            "src/penstock/engine/spark/cluster_facts.py",
            "src/penstock/engine/spark/local_stores.py",
            "src/penstock/engine/spark/shipped_files.py",
            "src/penstock/engine/spark/startup/session*.py",
            "src/penstock/state/local*.py",
        ),
        ("tests/spark/test_cluster.py",),
    ),
    Subject(
        "sources and sinks",
        (
            "src/penstock/connectors/*.py",
            "src/penstock/connectors/files/*",
            "src/penstock/connectors/generated/*",
            "src/penstock/formats/*",
            "src/penstock/engine/spark/native_source.py",
            "src/penstock/engine/spark/frame*.py",
            "src/penstock/job/*intake.py",
        ),
        (
            "tests/spark/test_file_readers.py",
            "tests/spark/test_file_sinks.py",
            "tests/spark/test_own_sources.py",
        ),
    ),
    Subject(
        "Kafka",
        (
            "src/penstock/connectors/kafka/*",
            "src/penstock/connectors/stage*.py",
            "src/penstock/connectors/holding.py",
            "src/penstock/kafka_broker/*",
            "src/penstock/job/partition_intake.py",
        ),
        (
            "tests/kafka/test_aligned_topics.py",
            "tests/kafka/test_continuous_sink.py",
            "tests/kafka/test_docs.py",
            "tests/kafka/test_example.py",
            "tests/kafka/test_kill.py",
            "tests/kafka/test_local_broker.py",
            "tests/kafka/test_sink.py",
            "tests/kafka/test_slow_sink.py",
            "tests/kafka/test_source.py",
            "tests/kafka/test_source_changes.py",
            "tests/kafka/test_source_spark.py",
        ),
    ),
    Subject(
        "tables in Kafka",
        ("src/penstock/connectors/kafka/*", "src/penstock/table/connectors/*", "src/penstock/formats/*"),
        (
            "tests/kafka/test_kill_tables.py",
            "tests/kafka/test_table_formats.py",
            "tests/kafka/test_temporal_join.py",
            "tests/kafka/test_warehouse.py",
        ),
    ),
    Subject(
        "Kafka Streams",
        ("src/penstock/kstreams/*", "src/penstock/vocabulary/kstreams/*", "src/penstock/runtime/operators/kstreams/*"),
        (
            "tests/conformance/test_kstreams.py",
            "tests/kafka/test_kill_kstreams.py",
            "tests/kafka/test_kstreams.py",
        ),
    ),
    Subject(
        "databases",
        ("src/penstock/connectors/jdbc/*", "src/penstock/connectors/stage*.py", "src/penstock/connectors/holding.py"),
        (
            "tests/jdbc/test_fence.py",
            "tests/jdbc/test_kill.py",
            "tests/jdbc/test_lookup.py",
            "tests/jdbc/test_postgres.py",
            "tests/jdbc/test_source.py",
        ),
    ),
    Subject(
        "SQL",
        ("src/penstock/table/*", "src/penstock/vocabulary/sql/*", "src/penstock/runtime/operators/table/*"),
        (
            "tests/spark/test_nexmark.py",
            "tests/spark/test_sql.py",
            "tests/spark/test_sql_oracle.py",
            "tests/unit/benchmarks/test_nexmark_spark.py",
        ),
    ),
    Subject(
        "patterns",
        ("src/penstock/cep/*", "src/penstock/runtime/operators/cep/*"),
        ("tests/spark/test_cep.py", "tests/spark/test_kill_patterns.py"),
    ),
    Subject(
        "savepoints",
        ("src/penstock/savepoint/*", "src/penstock/state_processor/*", "src/penstock/engine/spark/state_*.py"),
        ("tests/spark/test_savepoints.py", "tests/spark/test_state_processor.py"),
    ),
    Subject("queries of state", ("src/penstock/queryable/*",), ("tests/spark/test_queryable.py",)),
    Subject(
        "the server",
        (
            "src/penstock/server/*",
            "src/penstock/http_limits.py",
            "src/penstock/tokens.py",
            "src/penstock/process_ids.py",
            "src/penstock/job/cards.py",
            "src/penstock/job/requirements.py",
        ),
        (
            "tests/server/test_commands.py",
            "tests/server/test_dispatcher.py",
            "tests/server/test_flink_client.py",
            "tests/server/test_mistakes.py",
            "tests/server/test_requirements.py",
            "tests/server/test_spark_jobs.py",
            "tests/unit/server/test_registry.py",
        ),
    ),
    Subject(
        "the SQL gateway",
        ("src/penstock/server/gateway/*", "src/penstock/cli/sql*"),
        ("tests/server/test_sql_gateway.py", "tests/server/test_sql_gateway_clients.py"),
    ),
    Subject(
        "what is shown of jobs",
        (
            "src/penstock/server/*",
            "src/penstock/metrics/*",
            "src/penstock/job/document.py",
            "src/penstock/job/metrics*.py",
        ),
        ("tests/browser/test_flink_web_ui.py", "tests/browser/test_pages.py", "tests/prometheus/test_prometheus.py"),
    ),
    Subject("examples", ("examples/*.py", "examples/gallery/*"), ("tests/spark/test_examples.py",)),
    *(
        Subject(f"the example {name}", (f"examples/{name}/*",), (f"examples/{name}/test_job.py",))
        for name in (
            "account_notifications",
            "card_fraud",
            "deduplication",
            "dynamic_rules",
            "enrichment",
            "order_pipeline",
            "sensor_alerts",
            "sessionization",
            "trades",
            "warehouse",
            "word_count",
        )
    ),
    Subject("documents", ("docs/*.md", "README.md"), ("tests/spark/test_examples_in_docs.py",)),
    Subject(
        "what quick tests know",
        (
            "src/penstock/asynchronous/*",
            "src/penstock/errors.py",
            "src/penstock/py.typed",
            "src/penstock/pyflink_names.py",
            "src/penstock/scratch.py",
        ),
        (),
    ),
)

QUICKER = frozenset(
    f"tests/spark/test_{name}.py"
    for name in ("columns", "declared_types", "document", "names", "privacy", "types_of_state", "worker_daemon")
)
"""Files of subjects that may come last in a run on two processes."""


def every_file() -> set[str]:
    """All files that are chosen or left out."""
    return {*ALWAYS, *(file for subject in SUBJECTS for file in subject.tests)}


def files_chosen(changed: Iterable[str]) -> set[str]:
    """The files that take long and are to run, if these paths have changed."""
    known, chosen = every_file(), set(ALWAYS)
    for path in changed:
        chosen.update(file for subject in SUBJECTS if subject.is_touched_by(path) for file in subject.tests)
        chosen.update([path] if path in known else _beside(path, known))
    return chosen


def _beside(path: str, known: set[str]) -> set[str]:
    """Of a file that tests share, as their conftest or a job of theirs: the files of its folder."""
    folder, name = path.split("/")[:2] if path.count("/") > 1 else ("", ""), path.rpartition("/")[2]
    if folder[0] != "tests" or folder[1] == "unit" or name.startswith("test_"):
        return set()
    return {file for file in known if file.startswith(f"tests/{folder[1]}/")}


def changed_files(root: Path, base: str | None) -> tuple[str, list[str]] | None:
    """Since which commit, and what has changed since then, or None where git does not know; a bad base is an error."""
    start = base or _start(root)
    if start is None:
        return None
    commit = _git(root, "rev-parse", "--short", "--verify", f"{start}^{{commit}}")
    if commit is None:
        raise ValueError(f"there is no commit {start!r}: set BASE to one that is here")
    tracked = _git(root, "diff", "--name-only", "--no-renames", commit)
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    return commit, sorted({*(tracked or "").split("\n"), *(new or "").split("\n")} - {""})


def _start(root: Path) -> str | None:
    """Where this branch left the one that it follows; where nothing is new since then, the commit before the last."""
    head = _git(root, "rev-parse", "HEAD")
    for followed in ("@{upstream}", "origin/HEAD", "origin/main"):
        start = _git(root, "merge-base", "HEAD", followed)
        if start is not None and (start != head or _git(root, "status", "--porcelain")):
            return start
    return _git(root, "rev-parse", "--verify", "HEAD~1")


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _matches(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)
