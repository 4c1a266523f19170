"""Requirements of programs: installed into environments of their own, once for each set, or not at all."""

from __future__ import annotations

import io
import subprocess
import sys
import urllib.error
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.packages import only_from, waiting_package, wheel
from tests.server.servers import Server, server
from tests.spark.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SHOW = "import sys, {package}\nprint({package}.__file__, {package}.SHADE, *sys.argv[1:])\n"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    wheel(folder, "shades", "1.0", {"shades.py": "SHADE = 'red'\n"})
    wheel(folder, "shades", "2.0", {"shades.py": "SHADE = 'blue'\n"})
    return folder


@pytest.fixture(scope="module")
def running(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("requirements")
    with server(folder, variables=only_from(packages)) as one:
        yield one


def zipped(**files: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
    return stream.getvalue()


def submitted(running: Server, program: str, *arguments: str, entry: str | None = None) -> str:
    body = {"programArgsList": list(arguments), "entryClass": entry}
    return str(running.call("POST", f"/jars/{program}/run-application", body)["applicationid"])


def ended(running: Server, submission: str) -> dict[str, object]:
    path = f"/penstock/submissions/{submission}"
    wait_until(lambda: running.get(path)["state"] == "ENDED", f"submission {submission} has ended")
    return dict(running.get(path))


def printed(running: Server, program: str, *arguments: str, entry: str | None = None) -> list[str]:
    """Run a program to its good end; returns the words that it printed."""
    submission = submitted(running, program, *arguments, entry=entry)
    found = ended(running, submission)
    assert found["outcome"] == "FINISHED", found
    return str(running.get(f"/penstock/submissions/{submission}/log")["text"]).split()


def environments(running: Server) -> list[str]:
    return sorted(each.name for each in (running.log.parent / "data" / "environments").iterdir())


def test_each_set_of_requirements_has_an_environment_made_once(running: Server) -> None:
    show = SHOW.format(package="shades")
    file, shade, word = printed(running, running.upload("show.py", show.encode(), "shades==1.0  # red\n"), "äö")
    assert (shade, word) == ("red", "äö")
    [made] = environments(running)
    assert f"/environments/{made}/" in file
    # A folder that requires the same has the same environment, though it is another program.
    folder = running.upload("folder.zip", zipped(main_py=show, requirements_txt="\n# of ours\nshades==1.0\n"))
    assert printed(running, folder) == [file, "red"]
    assert environments(running) == [made]
    other = running.upload("folder.zip", zipped(main_py=show, requirements_txt="shades >= 2"))
    assert printed(running, other)[1] == "blue"
    assert len(environments(running)) == 2
    # Nobody else sees any of it: a program that requires nothing, or whoever runs the server.
    found = ended(running, submitted(running, running.upload("show.py", show.encode())))
    assert found["outcome"] == "FAILED" and "No module named 'shades'" in str(found["error"])
    told = subprocess.run([sys.executable, "-c", "import shades"], capture_output=True, check=False)
    assert b"No module named 'shades'" in told.stderr


def test_a_wheel_is_installed_with_what_it_requires(running: Server, tmp_path: Path) -> None:
    main = SHOW.format(package="shades")
    files = {"orders/__init__.py": "", "orders/main.py": main}
    built = wheel(tmp_path, "orders", "1.4", files, ["shades<2", "nothing; python_version < '3'"])
    program = running.upload(built.name, built.read_bytes())
    file, shade, word = printed(running, program, "yesterday", entry="orders.main")
    assert (shade, word) == ("red", "yesterday") and "/environments/" in file
    before = environments(running)
    assert printed(running, program, entry="orders.main")[0] == file
    assert environments(running) == before
    found = ended(running, submitted(running, program))
    assert "is a wheel: give the module to run" in str(found["error"])


def test_what_cannot_be_installed_is_told_and_nothing_of_it_is_left(running: Server) -> None:
    before = environments(running)
    program = running.upload("show.py", b"print('never')", "shades==1.0\nno-such-package-of-ours>=3\n")
    with pytest.raises(urllib.error.HTTPError) as told:
        running.run(program, [])
    text = told.value.read().decode()
    sentence = (
        "the requirements of the program could not be installed: "
        "No matching distribution found for no-such-package-of-ours>=3"
    )
    assert told.value.code == 400 and sentence in text
    assert environments(running) == before
    [job] = [each for each in running.get("/jobs/overview")["jobs"] if each["state"] == "FAILED"][:1]
    assert sentence in running.get(f"/jobs/{job['jid']}/exceptions")["root-exception"]
    again = ended(running, submitted(running, program))  # there is nothing half made that it could use
    assert again["outcome"] == "FAILED" and sentence in str(again["error"])


@pytest.mark.parametrize("line", ["--pre", "file:/srv/x", "sub/x", "x.whl", "x @ https://h.example/x.whl"])
def test_options_paths_and_urls_are_refused_wherever_they_stand(running: Server, tmp_path: Path, line: str) -> None:
    def refused(name: str, content: bytes, requirements: str = "") -> None:
        with pytest.raises(urllib.error.HTTPError) as told:
            running.upload(name, content, requirements)
        assert told.value.code == 400 and "only names and versions of packages" in told.value.read().decode()

    refused("show.py", b"", line)
    refused("folder.zip", zipped(main_py="", requirements_txt=line))
    built = wheel(tmp_path, "orders", "1.4", {"orders.py": ""}, [line])
    refused(built.name, built.read_bytes())


def test_a_dispatcher_that_is_killed_while_it_installs_leaves_nothing_to_be_used(
    packages: Path, tmp_path: Path
) -> None:
    own, place = tmp_path / "packages", tmp_path / "place"
    waiting_package(own, "patience", place)
    variables = only_from(own)

    def building() -> int:
        return len(list(place.glob("building-*")))

    try:
        with server(tmp_path, variables=variables, name="killed", is_last=False) as one:
            program = one.upload("show.py", b"import patience\nprint(patience.__file__)", "patience")
            submission = submitted(one, program)
            wait_until(lambda: building() == 1, "pip builds the package")
            one.kill()
        with server(tmp_path, variables=variables) as other:
            wait_until(lambda: building() == 2, "the next dispatcher has it installed again")
            assert all(name.startswith("penstock-scratch-") for name in environments(other)), "none is taken for made"
            (place / "go").touch()
            assert ended(other, submission)["outcome"] == "FINISHED"
            text = other.get(f"/penstock/submissions/{submission}/log")["text"]
            assert "/penstock-scratch-" not in text and text.strip().endswith("/patience.py")
    finally:
        (place / "go").touch()  # pip that was left alone comes to its end
    data = tmp_path / "data" / "environments"

    def is_clean() -> bool:
        """A server clears what nobody works on any more, when it starts."""
        with server(tmp_path, variables=variables, name="last"):
            return len(list(data.iterdir())) == 1

    wait_until(is_clean, "only the whole environment is there")
