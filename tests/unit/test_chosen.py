"""What changed chooses the files that take long, and nothing that takes long is forgotten."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.chosen import ALWAYS, SUBJECTS, changed_files, every_file, files_chosen

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
FOLDERS_OF_ENGINES = ("tests/spark", "tests/kafka", "tests/jdbc")


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with two commits, the second of which changed a file of Kafka."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "README.md").write_text("one")
    _commit(tmp_path)
    _write(tmp_path / "src/penstock/connectors/kafka/reader.py")
    _commit(tmp_path)
    return tmp_path


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("changed")


def _commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "m")


def test_every_source_is_of_a_subject() -> None:
    sources = [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py") if "__pycache__" not in path.parts]
    assert len(sources) > 500
    assert [path for path in sources if not any(subject.is_touched_by(path) for subject in SUBJECTS)] == []


def test_every_pattern_of_a_subject_is_of_something() -> None:
    paths = [
        str(path.relative_to(ROOT)) for top in ("src", "examples", "docs", "tests") for path in (ROOT / top).rglob("*")
    ]
    paths.append("README.md")
    patterns = [(subject.name, pattern) for subject in SUBJECTS for pattern in subject.sources]
    assert [each for each in patterns if not any(fnmatch(path, each[1]) for path in paths)] == []


def test_every_file_that_takes_long_is_of_a_subject() -> None:
    slow = {
        str(path.relative_to(ROOT))
        for folder in ("tests", "examples")
        for path in (ROOT / folder).rglob("test_*.py")
        if "pytest.mark.slow" in path.read_text() or str(path.relative_to(ROOT)).startswith(FOLDERS_OF_ENGINES)
    } - {"tests/unit/test_chosen.py"}
    assert slow - every_file() == set()
    assert [file for file in every_file() if not (ROOT / file).exists()] == []


@pytest.mark.parametrize(
    ("path", "chosen"),
    [
        ("src/penstock/connectors/jdbc/fencing.py", {"tests/jdbc/test_fence.py", "tests/jdbc/test_kill.py"}),
        ("src/penstock/cep/pattern.py", {"tests/spark/test_cep.py"}),
        ("src/penstock/server/flink/jobs.py", {"tests/server/test_flink_client.py", "tests/browser/test_pages.py"}),
        ("src/penstock/runtime/continuous/flow.py", {"tests/spark/test_continuous.py", "tests/spark/test_ends.py"}),
        ("tests/kafka/test_sink.py", {"tests/kafka/test_sink.py"}),
        ("tests/jdbc/local_postgres.py", {"tests/jdbc/test_source.py", "tests/jdbc/test_kill.py"}),
        ("tests/spark/jobs/resume_matrix.py", {"tests/spark/test_resume_matrix.py"}),
        ("examples/trades/job.py", {"examples/trades/test_job.py"}),
        ("docs/sql.md", {"tests/spark/test_examples_in_docs.py"}),
    ],
)
def test_a_change_chooses_what_shows_whether_it_works(path: str, chosen: set[str]) -> None:
    assert chosen | {*ALWAYS} <= files_chosen([path])


def test_a_change_leaves_out_what_has_nothing_to_do_with_it() -> None:
    assert files_chosen([]) == {*ALWAYS}
    assert files_chosen(["CHANGELOG.md", "tests/unit/cep/test_leaks.py", "tests/unit/conftest.py"]) == {*ALWAYS}
    of_kafka = files_chosen(["src/penstock/connectors/kafka/reader.py"])
    assert not {file for file in of_kafka if file.startswith(("tests/server", "tests/jdbc"))}
    assert not files_chosen(["tests/kafka/test_sink.py"]) - {*ALWAYS, "tests/kafka/test_sink.py"}


def test_where_nothing_is_new_the_last_commit_counts(repository: Path) -> None:
    found = changed_files(repository, None)
    assert found is not None
    assert found[1] == ["src/penstock/connectors/kafka/reader.py"]


def test_what_is_not_committed_counts_too(repository: Path) -> None:
    (repository / "README.md").write_text("two")
    _write(repository / "docs/new.md")
    assert changed_files(repository, "HEAD") == (
        git(repository, "rev-parse", "--short", "HEAD"),
        ["README.md", "docs/new.md"],
    )


def test_a_branch_counts_since_it_left_the_one_it_follows(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    clone = tmp_path_factory.mktemp("clone") / "clone"
    git(repository, "clone", "-q", str(repository), str(clone))
    found = changed_files(clone, None)
    assert found is not None
    assert found[1] == ["src/penstock/connectors/kafka/reader.py"], "nothing is new: the last commit"
    for name in ("one", "two"):
        _write(clone / name)
        _commit(clone)
    assert changed_files(clone, None) == (git(repository, "rev-parse", "--short", "HEAD"), ["one", "two"])
    assert changed_files(clone, "HEAD~1") == (git(clone, "rev-parse", "--short", "HEAD~1"), ["two"])


def test_a_base_that_is_not_there_is_told_and_no_git_is_no_error(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(ValueError, match="there is no commit 'nowhere': set BASE"):
        changed_files(repository, "nowhere")
    assert changed_files(tmp_path_factory.mktemp("plain"), None) is None


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A repository with a file of a subject, with a quick and a slow test, and the conftest of this one."""
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text())
    pytester.makeini(f"[pytest]\nmarkers =\n    slow: s\n    drawn: d\npythonpath = {ROOT}")
    folder = pytester.path / "tests" / "unit" / "state"
    folder.mkdir(parents=True)
    text = "import pytest\n@pytest.mark.slow\ndef test_long(): ...\ndef test_quick(): ...\n"
    (folder / "test_versions_growth.py").write_text(text)
    git(pytester.path, "init", "-q", "-b", "main")
    _commit(pytester.path)
    return pytester


def run(suite: pytest.Pytester, *options: str) -> pytest.RunResult:
    return suite.runpytest_subprocess(*options, "-p", "no:penstock", "-p", "no:xdist")


def test_slow_tests_of_files_that_are_not_chosen_are_left_out(suite: pytest.Pytester) -> None:
    left_out = run(suite, "--chosen")
    left_out.assert_outcomes(passed=1, deselected=1)
    left_out.stdout.fnmatch_lines(["files that take long: 2 of * chosen (git does not know*ALL=1 runs all)"])
    run(suite).assert_outcomes(passed=2)
    _write(suite.path / "src/penstock/state/keyed.py")
    chosen = run(suite, "--chosen", "--base", "HEAD")
    chosen.assert_outcomes(passed=2)
    chosen.stdout.fnmatch_lines(["files that take long: * chosen (* changed since *"])


def test_a_bad_base_ends_the_run_with_a_sentence(suite: pytest.Pytester) -> None:
    result = run(suite, "--chosen", "--base", "nowhere")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*there is no commit 'nowhere': set BASE to one that is here"])
