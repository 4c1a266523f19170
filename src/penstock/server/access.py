"""Who may do what: tokens with a role, and signed sessions for browsers.

A token is sent as `Authorization: Bearer TOKEN`, or as the password of basic authentication. A browser trades it for a
session cookie at `/login`. A session names its role and its end and is signed with the tokens, so every server that has
the same tokens takes it, and none has to remember it.
"""

from __future__ import annotations

import base64
import binascii
import enum
import hmac
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.scratch import make_private, open_private

COOKIE = "penstock_session"
SESSION_SECONDS = 12 * 3600
LINK_SECONDS = 600
_LEAST_LENGTH = 16


class Role(enum.IntEnum):
    """What a token allows: to look, or to look and change."""

    READ = 1
    OPERATE = 2


@dataclass(frozen=True)
class Access:
    """The tokens of a server; without any, everybody who can reach it may do everything."""

    tokens: dict[str, Role] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for token in self.tokens:
            if len(token) < _LEAST_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
                raise ConfigurationError(
                    f"a token must have at least {_LEAST_LENGTH} printable ASCII characters and no spaces"
                )

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
    """Read tokens from a file, a line `operate TOKEN` or `read TOKEN` each; the file must be the user's alone."""
    if path.stat().st_mode & 0o077:
        raise ConfigurationError(f"others can read the tokens in {path}: run `chmod 600 {path}`")
    tokens: dict[str, Role] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        role, _, token = line.strip().partition(" ")
        if role.upper() not in Role.__members__ or not token:
            raise ConfigurationError(f"{path}, line {number}: must be `operate TOKEN` or `read TOKEN`")
        tokens[token.strip()] = Role[role.upper()]
    if not tokens:
        raise ConfigurationError(f"{path} has no tokens: write a line `operate TOKEN`, or remove the file")
    return Access(tokens)


def own_access(path: Path) -> Access:
    """The tokens in a file of the user's, which is made with new ones if it is not there."""
    if not path.exists():
        make_private(str(path.parent))
        lines = [f"{role.name.lower()} {secrets.token_urlsafe(24)}\n" for role in (Role.OPERATE, Role.READ)]
        try:
            with open(path, "x", opener=open_private) as stream:
                stream.writelines(lines)
        except FileExistsError:
            pass  # another server of the user's was quicker
    return token_file_access(path)
