"""Settings that refer to a secret instead of containing it: `${env:NAME}`, `${file:/path}` and `${secret:NAME}`.

A reference stays what it is wherever settings are kept, shipped, hashed or shown, and is replaced in the process that
uses it, when it does: a connector that connects, a task that reads a parameter, a program that begins. So a secret is
in none of Penstock's files, and one that is changed counts from the next connection on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from penstock.errors import ConfigurationError

SECRETS_FOLDER = "PENSTOCK_SECRETS"
"""Variable that names the folder with a file for each `${secret:NAME}`."""

DEFAULT_FOLDER = "/run/secrets"
REFERENCE = re.compile(r"\$\{(?P<kind>env|file|secret):(?P<name>[^}]*)\}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_MOST_BYTES = 1 << 20

V = TypeVar("V")


def has_reference(value: object) -> bool:
    """Whether a value is a text with a reference in it."""
    return isinstance(value, str) and REFERENCE.search(value) is not None


def resolved(value: str, setting: str) -> str:
    """A text with its references replaced; `setting` is what an error names. Not to be kept longer than it is used."""
    if "${" not in value:
        return value
    return REFERENCE.sub(lambda found: _secret(found["kind"], found["name"], setting), value)


def resolved_all(settings: Mapping[str, V], whose: str) -> dict[str, V]:
    """Settings with the references in their texts replaced; `whose` they are is in front of the key in an error."""
    return {
        key: resolved(value, f"{whose}, setting {key!r}") if has_reference(value) else value  # type: ignore[arg-type,misc]
        for key, value in settings.items()
    }


def _secret(kind: str, name: str, setting: str) -> str:
    if kind == "env":
        found = os.environ.get(name)
        if found is None:
            raise ConfigurationError(
                f"{setting}: ${{env:{name}}} refers to an environment variable that is not set in this process: set it "
                "for the driver and for the workers."
            )
        return found
    if kind == "secret":
        if _NAME.fullmatch(name) is None:
            raise ConfigurationError(f"{setting}: ${{secret:{name}}} must name a file, of letters, digits, _ . and -.")
        path = Path(os.environ.get(SECRETS_FOLDER) or DEFAULT_FOLDER) / name
    else:
        path = Path(name)
        if not path.is_absolute():
            raise ConfigurationError(f"{setting}: ${{file:{name}}} must have an absolute path.")
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read(_MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigurationError(
            f"{setting}: ${{{kind}:{name}}} refers to {path}, which cannot be read ({reason}): have it there for the "
            "driver and for the workers."
        ) from None
    # An editor, and `echo`, end a file with a line's end that is no part of the secret.
    return text.removesuffix("\n").removesuffix("\r")
