"""What people are shown in place of passwords and tokens: by the name of a setting, and within addresses and arguments.

A secret whose name does not tell is not found here: let the setting refer to it, such as `${env:NAME}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = "******"
_SECRET = re.compile(r"password|passwd|\bpwd\b|secret|token|credential|api-?key|access\.?key|jaas|auth", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{(env|file|secret):[^}]*\}")
# postgresql://user:PASSWORD@host, up to the last @ before the path: passwords may have one.
_ADDRESS = re.compile(r"(?P<begin>[a-zA-Z][\w+.-]*://[^\s/:@'\"]*:)[^\s/'\"]*(?=@)")
# ?password=..., user=x password=..., password: ..., --db-password=...
_NAMED = re.compile(
    r"(?P<begin>[\w.-]*(?:password|passwd|pwd|secret|token|api-?key|credential)[\w.-]*\s*[=:]\s*)"
    r"(?P<quote>[\"']?)[^\s&;,\"']+(?P=quote)",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether a setting of a name is one that nobody is shown."""
    return _SECRET.search(name) is not None


def masked(text: str) -> str:
    """A text with the passwords in it hidden, as far as they can be seen as such."""
    hidden = _ADDRESS.sub(rf"\g<begin>{HIDDEN}", text)
    return _NAMED.sub(rf"\g<begin>{HIDDEN}", hidden)


def masked_arguments(words: Sequence[str]) -> list[str]:
    """Arguments of a program: the value of an option with such a name is hidden, and what `masked` hides."""
    found: list[str] = []
    is_value = False
    for word in words:
        found.append(HIDDEN if is_value else masked(word))
        is_value = word.startswith("-") and "=" not in word and is_secret(word)
    return found


def shown(key: str, value: Any) -> str:
    """A setting for people to read; one that only refers to a secret is as it is."""
    if is_secret(key):
        return value if isinstance(value, str) and _REFERENCE.fullmatch(value) else HIDDEN
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {shown(str(name), each)}" for name, each in value.items())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return ", ".join(masked(str(each)) for each in value)
    return masked(str(value))
