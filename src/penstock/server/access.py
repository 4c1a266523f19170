"""Who may do what: tokens with a role, and signed sessions for browsers.

A token is sent as `Authorization: Bearer TOKEN`, or as the password of basic authentication. A browser trades it for a
session cookie at `/login`. A session names its role and its end and is signed with the tokens, so every server that has
the same tokens takes it. What is remembered, in the registry if there is one, is only what is used up: sessions that
were left by `/logout`, and links that were followed.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from penstock.tokens import Role, checked_token, own_tokens_in, tokens_in

COOKIE = "penstock_session"
SESSION_SECONDS = 12 * 3600
LINK_SECONDS = 600


class _Signed(NamedTuple):
    role: Role
    until_s: int
    id: str


class UsedUp(Protocol):
    """Remembers what is used up, until it would be over anyway."""

    def use(self, name: str, until_s: int) -> bool:
        """Use a name up; False if it was before, by whichever server."""

    def is_used(self, name: str) -> bool:
        """Whether it was."""


class UsedUpHere:
    """What is used up by this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[str, int] = {}

    def use(self, name: str, until_s: int) -> bool:
        """Use a name up; False if it was before."""
        with self._lock:
            now = time.time()
            self._until = {each: until for each, until in self._until.items() if until > now}
            is_new = name not in self._until
            self._until.setdefault(name, until_s)
            return is_new

    def is_used(self, name: str) -> bool:
        """Whether it was."""
        with self._lock:
            return name in self._until


@dataclass(frozen=True)
class Access:
    """The tokens of a server; without any, everybody who can reach it may do everything."""

    tokens: dict[str, Role] = field(default_factory=dict, repr=False)
    used_up: UsedUp = field(default_factory=UsedUpHere, repr=False, compare=False)

    def __post_init__(self) -> None:
        for token in self.tokens:
            checked_token(token)

    @property
    def is_open(self) -> bool:
        """Whether no token is asked for."""
        return not self.tokens

    def role_of_token(self, given: str) -> Role | None:
        """The role of a token; every known one is compared, so that time tells nothing."""
        found = None
        for token, role in self.tokens.items():
            if hmac.compare_digest(token.encode(), given.encode(errors="replace")):
                found = role
        return found

    def role_of_header(self, header: str) -> Role | None:
        """The role that an Authorization header proves."""
        scheme, _, value = header.partition(" ")
        if scheme.lower() == "bearer":
            return self.role_of_token(value.strip())
        if scheme.lower() == "basic":
            try:
                _, _, password = base64.b64decode(value, validate=True).decode().partition(":")
            except (binascii.Error, UnicodeDecodeError):
                return None
            return self.role_of_token(password)
        return None

    # ---- sessions and links ----

    def new_session(self, role: Role, seconds: int = SESSION_SECONDS) -> str:
        """The value of a session cookie."""
        return self._signed("session", role, seconds)

    def new_link_code(self, role: Role, seconds: int = LINK_SECONDS) -> str:
        """What a link to the pages carries instead of a token: it is of use for a few minutes only."""
        return self._signed("link", role, seconds)

    def role_of_session(self, value: str) -> Role | None:
        """The role of a cookie; None if it is over, was left, or was never given."""
        found = self._read_signed("session", value)
        return None if found is None or self.used_up.is_used(f"session:{found.id}") else found.role

    def end_session(self, value: str) -> None:
        """A session is left: its cookie is worth nothing from now on, wherever a copy of it is."""
        found = self._read_signed("session", value)
        if found is not None:
            self.used_up.use(f"session:{found.id}", found.until_s)

    def take_link_code(self, value: str) -> Role | None:
        """The role of a link that is followed for the first time."""
        found = self._read_signed("link", value)
        return found.role if found is not None and self.used_up.use(f"link:{found.id}", found.until_s) else None

    def _signed(self, purpose: str, role: Role, seconds: int) -> str:
        content = f"{role.name.lower()}.{int(time.time()) + seconds}.{secrets.token_hex(8)}"
        return f"{content}.{self._signature(purpose, content)}"

    def _read_signed(self, purpose: str, value: str) -> _Signed | None:
        content, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode(errors="replace"), self._signature(purpose, content).encode()):
            return None
        name, end, *identity = content.split(".")
        if not identity:  # of an earlier version: it cannot be ended
            return None
        return _Signed(Role[name.upper()], int(end), identity[0]) if int(end) > time.time() else None

    def _signature(self, purpose: str, content: str) -> str:
        key = "\n".join(sorted(self.tokens)).encode()
        return hmac.new(key, f"{purpose}:{content}".encode(), "sha256").hexdigest()


def token_file_access(path: Path) -> Access:
    """With the tokens of a file."""
    return Access(tokens_in(path))


def own_access(path: Path) -> Access:
    """With the tokens in a file of the user's, which is made if it is not there."""
    return Access(own_tokens_in(path))
