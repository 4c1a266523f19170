"""Who may do what: tokens with a role, and signed sessions for browsers.

A token is sent as `Authorization: Bearer TOKEN`, or as the password of basic authentication. A browser trades it for a
session cookie at `/login`. A session names its role and its end and is signed with the tokens, so every server that has
the same tokens takes it, and none has to remember it.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from dataclasses import dataclass, field
from pathlib import Path

from penstock.tokens import Role, checked_token, own_tokens_in, tokens_in

COOKIE = "penstock_session"
SESSION_SECONDS = 12 * 3600
LINK_SECONDS = 600


@dataclass(frozen=True)
class Access:
    """The tokens of a server; without any, everybody who can reach it may do everything."""

    tokens: dict[str, Role] = field(default_factory=dict, repr=False)

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
        """The role of a cookie; None if it is over, or was never given."""
        return self._role_of_signed("session", value)

    def role_of_link_code(self, value: str) -> Role | None:
        """The role of a link."""
        return self._role_of_signed("link", value)

    def _signed(self, purpose: str, role: Role, seconds: int) -> str:
        content = f"{role.name.lower()}.{int(time.time()) + seconds}"
        return f"{content}.{self._signature(purpose, content)}"

    def _role_of_signed(self, purpose: str, value: str) -> Role | None:
        content, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode(errors="replace"), self._signature(purpose, content).encode()):
            return None
        name, _, end = content.partition(".")
        return Role[name.upper()] if int(end) > time.time() else None

    def _signature(self, purpose: str, content: str) -> str:
        key = "\n".join(sorted(self.tokens)).encode()
        return hmac.new(key, f"{purpose}:{content}".encode(), "sha256").hexdigest()


def token_file_access(path: Path) -> Access:
    """With the tokens of a file."""
    return Access(tokens_in(path))


def own_access(path: Path) -> Access:
    """With the tokens in a file of the user's, which is made if it is not there."""
    return Access(own_tokens_in(path))
