"""`penstock run`: how a program is run, what it is given, and what its end becomes; jobs run in process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.commands import app
from penstock.common.given_configuration import with_given
from penstock.datastream import StreamExecutionEnvironment

IN_PROCESS = "-Dpenstock.engine=in-process"
PROGRAM = """
import json, sys
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

own = Configuration()
own.set_string("pipeline.max-parallelism", "64")
env = StreamExecutionEnvironment.get_execution_environment(own)
told = env.get_configuration().to_dict()
seen = env.get_parallelism()
env.set_parallelism(2)
print(json.dumps([__name__, __file__, sys.argv, sys.path[0], told, seen, env.get_parallelism()]))
"""
JOB = """
from penstock.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([4, 2, {last}]).map(lambda n: 1 / n).name("invert").print()
env.execute("inversion")
"""


def call(*words: str) -> Result:
    return CliRunner().invoke(app, ["run", *words])


def script(folder: Path, text: str) -> str:
    path = folder / "job.py"
    path.write_text(text)
    return str(path)


def test_a_script_runs_as_by_python_with_what_it_is_given(tmp_path: Path) -> None:
    before = sys.modules["__main__"], sys.argv, sys.path[:]
    path = script(tmp_path, PROGRAM)
    words = ("-p", "3", "--master", "local[2]", "-s", "/saved", "-n", "-D", "pipeline.max-parallelism=32", "-Da.b=c=d")
    told = call(*words, path, "--flag", "-p", "9", "--help")
    assert told.exit_code == 0, told.output
    name, file, argv, folder, keys, given, own = json.loads(told.stdout)
    assert (name, file, argv) == ("__main__", path, [path, "--flag", "-p", "9", "--help"])
    assert folder == str(tmp_path)
    assert keys == {
        "parallelism.default": "3",
        "spark.master": "local[2]",
        "execution.state-recovery.path": "/saved",
        "execution.state-recovery.ignore-unclaimed-state": "true",
        "pipeline.max-parallelism": "64",  # what the program says itself wins
        "a.b": "c=d",
    }
    assert (given, own) == (3, 2)
    assert (sys.modules["__main__"], sys.argv, sys.path) == before
    assert with_given(None) is None


def test_a_relative_savepoint_is_meant_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = call("-s", "saved/one", script(tmp_path, PROGRAM))
    assert json.loads(told.stdout)[4]["execution.state-recovery.path"] == f"{tmp_path}/saved/one"


@pytest.mark.parametrize("name", ["jobs.first", "jobs"])
def test_a_module_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    package = tmp_path / "jobs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "constant.py").write_text("VALUE = 5")
    text = "import sys\nfrom .constant import VALUE\nprint(__name__, VALUE, sys.argv[1:])"
    (package / "first.py").write_text(text)
    (package / "__main__.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    for module in [each for each in sys.modules if each.partition(".")[0] == "jobs"]:
        monkeypatch.delitem(sys.modules, module)
    told = call("-m", name, "a", "-b")
    assert (told.exit_code, told.stdout) == (0, "__main__ 5 ['a', '-b']\n")
    # As after `python -m NAME`, what follows is the module's, options of `run` among them.
    for before in (["-n", "-Da.b=c", "-m", name], ["-p", "2", f"--module={name}"], [f"-m{name}"]):
        assert call(*before, "-q", "--help", "-p", "x").stdout == "__main__ 5 ['-q', '--help', '-p', 'x']\n"
    assert call("-m", name, "--", "-p").stdout == "__main__ 5 ['-p']\n"


def test_a_program_is_compiled_as_python_compiles_it(tmp_path: Path) -> None:
    text = "def f(x: int) -> str: ...\nprint(f.__annotations__)"
    assert call(script(tmp_path, text)).stdout == "{'x': <class 'int'>, 'return': <class 'str'>}\n"


def test_a_job_that_finishes(tmp_path: Path) -> None:
    told = call(IN_PROCESS, "-p", "1", script(tmp_path, JOB.format(last=1)))
    assert (told.exit_code, sorted(told.stdout.split()), told.stderr) == (0, ["0.25", "0.5", "1.0"], "")


def test_a_job_that_fails_shows_the_users_traceback_and_no_other(tmp_path: Path) -> None:
    path = script(tmp_path, JOB.format(last=0))
    told = call(IN_PROCESS, "-p", "1", path)
    assert told.exit_code == 1
    lines = told.stderr.splitlines()
    assert lines[:2] == ["Traceback (most recent call last):", f'  File "{path}", line 5, in <lambda>']
    assert "ZeroDivisionError: division by zero" in lines
    assert lines[-1] == "job 'inversion' failed"
    assert sum(line.startswith("  File") for line in lines) == 1


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit()", 0, ""),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"),
        ("x = (", 1, "penstock: script {path} is not a Python program:\n  File "),
        ("\n1 / 0", 1, 'Traceback (most recent call last):\n  File "{path}", line 2, in <module>\n'),
        (
            "from penstock.datastream import StreamExecutionEnvironment as E\nE.get_execution_environment().execute()",
            1,
            "penstock: {path}, line 2: nothing to execute: ",
        ),
    ],
)
def test_the_end_of_a_program(tmp_path: Path, text: str, code: int, message: str) -> None:
    path = script(tmp_path, text)
    told = call(path)
    assert told.exit_code == code
    assert told.stderr.startswith(message.format(path=path))
    assert bool(told.stderr) == bool(message)


LEFT_RUNNING = """
import threading
from tests.unit.engine.announced import QuietJob
from penstock.job.announcing import announce
from penstock.errors import JobFailedError

job = QuietJob()
announce(job, job.ended, name="left", checkpoint="/none")
wait = job.wait

def waited():
    print("waited for, and", __name__)
    job.ended.{end}
    return wait()

job.wait = waited
"""


@pytest.mark.parametrize(
    ("end", "code", "error"),
    [("set_result(None)", 0, ""), ("set_exception(JobFailedError('it broke'))", 1, "it broke\n")],
)
def test_a_job_that_the_program_leaves_running_is_waited_for(tmp_path: Path, end: str, code: int, error: str) -> None:
    told = call(script(tmp_path, LEFT_RUNNING.format(end=end)))
    assert (told.exit_code, told.stdout, told.stderr) == (code, "waited for, and __main__\n", error)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give the path of a script, or a module with -m"),
        (("no/such.py",), "there is no script no/such.py"),
        (("-D", "nonsense", __file__), "'nonsense' must look like key=value"),
        (("-Dparallelism.default=many", __file__), "configuration key 'parallelism.default' is 'many', but it must be"),
        (("-Dpenstock.batch.max-record=1", __file__), "did you mean 'penstock.batch.max-records'?"),
        (("-p", "0", __file__), "'--parallelism'"),
        (("--log", "x", __file__), "only works with --detached"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_runs(words: tuple[str, ...], message: str) -> None:
    told = call(*words)
    assert told.exit_code == 2
    assert message in told.stderr


def test_an_error_of_ours_names_the_line_of_the_program_not_of_the_standard_library(tmp_path: Path) -> None:
    text = """
from contextlib import contextmanager
from penstock.errors import SqlError

exec(compile("raise SqlError('no such table')", contextmanager.__code__.co_filename, "exec"))
"""
    told = call(script(tmp_path, text))
    assert told.stderr == f"penstock: {tmp_path}/job.py, line 5: no such table\n"


def test_a_module_that_is_not_there() -> None:
    told = call("-m", "no.such")
    assert told.exit_code == 1
    assert told.stderr.startswith("penstock: there is no module 'no.such' to run in ")


def test_an_environment_without_a_command_line_is_given_nothing() -> None:
    assert StreamExecutionEnvironment.get_execution_environment().get_configuration().key_set() == frozenset()


DETACHED = """
import sys
from tests.unit.engine.announced import announced

print("args", sys.argv[1:], flush=True)
if sys.argv[1] == "fail":
    sys.exit(4)
with announced("background", "ab" * 16) as job:
    job.wait()
"""


def test_a_detached_program_goes_on_and_leaves_nothing_when_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(Path(__file__).parents[3])
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root}/src")
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "h"))
    path = script(tmp_path, DETACHED)
    told = call("--detached", path, "go", "-x")
    assert (told.exit_code, told.stdout) == (0, "ab" * 16 + "\n")
    (log,) = (tmp_path / "h" / "logs").iterdir()
    assert f"its output: {log}" in told.stderr
    assert log.read_text() == "args ['go', '-x']\n"
    (job,) = json.loads(CliRunner().invoke(app, ["list", "--json"]).stdout)
    os.kill(job["pid"], signal.SIGKILL)
    os.waitpid(job["pid"], 0)
    assert json.loads(CliRunner().invoke(app, ["list", "--json"]).stdout) == []
    assert list((tmp_path / "h" / "jobs").iterdir()) == []

    told = call("--detached", "--log", str(tmp_path / "log"), path, "fail")
    assert (told.exit_code, told.stdout) == (4, "")
    assert told.stderr.startswith("args ['fail']\nthe program ended (4) without starting a job; its output: ")


def test_a_key_that_nobody_knows_is_told_of(tmp_path: Path) -> None:
    path = script(tmp_path, PROGRAM)
    told = call("-D", "my.own=1", "-D", "spark.ui.enabled=false", "-D", "pipeline.name=x", path)
    assert told.exit_code == 0, told.output
    assert told.stderr == "penstock: -D my.own: unknown to Penstock and Spark; only the program itself can read it\n"


@pytest.mark.parametrize("key", ["paralelism.default", "parallelism.defaul", "piepline.name", "spak.master"])
def test_a_misspelt_key_is_told_of_with_the_right_one(tmp_path: Path, key: str) -> None:
    with pytest.warns(UserWarning, match=f"{key}.* has no effect: .* did you mean"):
        assert call("-D", f"{key}=1", script(tmp_path, PROGRAM)).exit_code == 0


@pytest.mark.parametrize("words", [("-D", "penstock.engine=in-process"), ("-Dpenstock.engine=in-process",)])
def test_a_setting_behind_the_program_is_told_of(tmp_path: Path, words: tuple[str, ...]) -> None:
    told = call(script(tmp_path, PROGRAM), *words, "-D", "--else")
    assert told.exit_code == 0
    assert told.stderr == (
        "penstock: -D penstock.engine=in-process comes after the program, so it is passed to the program; put it "
        "before the program\n"
    )


NEVER = """
from penstock.datastream import StreamExecutionEnvironment

def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).map(str).name("text").print()
    {end}

main()
"""


@pytest.mark.parametrize(
    ("end", "is_told"), [("", True), ("env.execute()", False), ("print(env.explain())", False), ("1 / 0", False)]
)
def test_a_program_that_never_executes_is_told_at_its_end(tmp_path: Path, end: str, is_told: bool) -> None:
    words = ["-m", "penstock", "run", IN_PROCESS, script(tmp_path, NEVER.format(end=end))]
    told = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=120, check=False)
    line = (
        "penstock: this program built streams (last operators: 'text', 'Print to Std. Out') and never ran them; call "
    )
    assert (f"{line}env.execute() at its end\n" in told.stderr) is is_told
