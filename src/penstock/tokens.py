"""Tokens of servers: read from a file of the user's alone, or made there, each with what it allows."""

from __future__ import annotations

import enum
import secrets
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.scratch import make_private, open_private

TOKEN = "PENSTOCK_TOKEN"
"""Variable that has the token, for clients and for drivers that report."""

_LEAST_LENGTH = 16


class Role(enum.IntEnum):
    """What a token allows: to look, or to look and change."""

    READ = 1
    OPERATE = 2


def checked_token(token: str) -> str:
    """A token; one that is easily guessed, or that no header could carry, is refused."""
    if len(token) < _LEAST_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(f"a token must have at least {_LEAST_LENGTH} printable ASCII characters and no spaces")
    return token


def tokens_in(path: Path) -> dict[str, Role]:
    """The tokens of a file, a line `operate TOKEN` or `read TOKEN` each; the file must be the user's alone."""
    try:
        mode, lines = path.stat().st_mode, path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the tokens in {path} cannot be read: {error}") from None
    if mode & 0o077:
        raise ConfigurationError(f"others can read the tokens in {path}: run `chmod 600 {path}`")
    tokens: dict[str, Role] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        role, _, token = line.strip().partition(" ")
        if role.upper() not in Role.__members__ or not token:
            raise ConfigurationError(f"{path}, line {number}: must be `operate TOKEN` or `read TOKEN`")
        tokens[checked_token(token.strip())] = Role[role.upper()]
    if not tokens:
        raise ConfigurationError(f"{path} has no tokens: write a line `operate TOKEN`, or remove the file")
    return tokens


def own_tokens_in(path: Path) -> dict[str, Role]:
    """The tokens in a file of the user's, which is made with new ones if it is not there."""
    if not path.exists():
        make_private(str(path.parent))
        lines = [f"{role.name.lower()} {secrets.token_urlsafe(24)}\n" for role in (Role.OPERATE, Role.READ)]
        try:
            with open(path, "x", opener=open_private) as stream:
                stream.writelines(lines)
        except FileExistsError:
            pass  # another server of the user's was quicker
    return tokens_in(path)
