"""A user's program, run as `python` would run it, and what becomes of its end."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

import penstock
from penstock.cli.output import note
from penstock.common.secret_references import resolved
from penstock.errors import ConfigurationError, JobCancelledError, JobFailedError, PenstockError
from penstock.job.announcing import running_jobs_of_this_process
from penstock.runtime.failure import format_user_traceback

FAILED = 1
INTERRUPTED = 130
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_PACKAGE = os.path.dirname(os.path.abspath(penstock.__file__)) + os.sep


@dataclass(frozen=True)
class Program:
    """A script by its path, or a module by its name, with its arguments."""

    target: str
    is_module: bool
    arguments: tuple[str, ...] = ()

    def run(self) -> int:
        """Run it and wait for the jobs that it leaves; returns the exit code."""
        code, file, package, folder = self._loaded()
        arguments = [resolved(each, f"argument {each!r}") for each in self.arguments]
        with _as_main(file, package, [file, *arguments], folder) as module:
            try:
                try:
                    exec(code, module.__dict__)
                except SystemExit as end:
                    if end.code not in (None, 0):
                        raise
                # As with Flink, a job that was started without waiting for it goes on when its program has ended.
                for job in running_jobs_of_this_process():
                    job.wait()
            except KeyboardInterrupt as interrupt:
                sys.excepthook(KeyboardInterrupt, interrupt.with_traceback(None), None)
                return INTERRUPTED
            except Exception as error:
                sys.last_type = type(error)  # as Python does for an error that nobody has caught
                note(_told(error))
                return FAILED
        return 0

    def _loaded(self) -> tuple[CodeType, str, str | None, str]:
        """Code, file, package and the folder whose modules the program imports."""
        if self.is_module:
            return _module_code(self.target)
        try:
            with io.open_code(os.path.abspath(self.target)) as stream:
                source = stream.read()
        except OSError as error:
            raise ConfigurationError(f"script {self.target} cannot be read: {error.strerror}") from None
        try:
            code = compile(source, self.target, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            text = "".join(traceback.format_exception_only(error)).rstrip()
            raise ConfigurationError(f"script {self.target} is not a Python program:\n{text}") from None
        return code, self.target, None, os.path.dirname(os.path.abspath(self.target))


def _module_code(name: str) -> tuple[CodeType, str, str | None, str]:
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except (ImportError, ValueError):
        spec = None
    loader: Any = None if spec is None else spec.loader
    code = loader.get_code(spec.name) if spec is not None and hasattr(loader, "get_code") else None
    if spec is None or code is None:
        raise ConfigurationError(f"there is no module {name!r} to run in {folder} or on PYTHONPATH")
    return code, str(spec.origin), spec.parent, folder


@contextmanager
def _as_main(file: str, package: str | None, arguments: list[str], folder: str) -> Iterator[ModuleType]:
    """Make a module the main one: classes of the program are looked for there, for the workers too."""
    module = ModuleType("__main__")
    module.__file__, module.__package__ = file, package
    module.__dict__["__builtins__"] = __builtins__
    before = sys.modules["__main__"], sys.argv, sys.path[:]
    sys.modules["__main__"], sys.argv = module, arguments
    if not sys.flags.safe_path:
        sys.path[0] = folder
    try:
        yield module
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = before


def _told(error: Exception) -> str:
    """What the user reads: own traceback where there is one, no stack of ours, none of Java's."""
    if isinstance(error, JobFailedError):
        return str(error)
    if isinstance(error, JobCancelledError):
        return f"penstock: {error}"
    if isinstance(error, PenstockError):
        return f"penstock: {_place_of(error)}{error}"
    return format_user_traceback(error)


def _place_of(error: Exception) -> str:
    """The line of the program that led to an error of ours."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    # A context manager of Penstock's has frames of `contextlib` above it.
    own = [frame for frame in frames if not frame.filename.startswith(_STANDARD_LIBRARY)] or frames
    return f"{own[-1].filename}, line {own[-1].lineno}: " if own else ""


def _is_ours(file: str) -> bool:
    return os.path.abspath(file).startswith(_PACKAGE)
