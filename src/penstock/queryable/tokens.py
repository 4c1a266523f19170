"""The tokens that a query server asks for: kept in a file of the user's, so that local clients find them."""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.errors import ConfigurationError
from penstock.job.cards import user_folder

TOKEN = "PENSTOCK_TOKEN"
"""Variable that has the token, for servers and clients."""

_LEAST_LENGTH = 16


def own_tokens() -> list[str]:
    """The tokens of this user's servers: from the environment, or from a file that is made if it is not there.

    The file is the one that the dispatcher has too (`penstock.server.access`).
    """
    given = os.environ.get(TOKEN)
    if given:
        return [checked_token(given)]
    path = user_folder() / "server" / "tokens"
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as stream:
                stream.write(f"operate {secrets.token_urlsafe(24)}\nread {secrets.token_urlsafe(24)}\n")
        except FileExistsError:
            pass  # another server of the user's was quicker
    return tokens_in(path)


def own_token() -> str:
    """The token that a client of this user sends: one that may only read, if there is one."""
    return own_tokens()[-1]


def tokens_in(path: Path) -> list[str]:
    """The tokens in a file of lines `read TOKEN` or `operate TOKEN`; the file must be the user's alone."""
    if path.stat().st_mode & 0o077:
        raise ConfigurationError(f"others can read the tokens in {path}: run `chmod 600 {path}`")
    found = [line.split()[1] for line in path.read_text().splitlines() if len(line.split()) == 2]
    if not found:
        raise ConfigurationError(f"{path} has no tokens: write a line `read TOKEN`, or remove the file")
    return list(map(checked_token, found))


def checked_token(token: str) -> str:
    """A token; one that is easily guessed is refused."""
    if len(token) < _LEAST_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(f"a token must have at least {_LEAST_LENGTH} printable ASCII characters, no spaces")
    return token


class TokenGuard:
    """An ASGI application before another one: answers requests without the token itself."""

    def __init__(self, app: Any, tokens: Sequence[str]) -> None:
        """Guard an application."""
        self._app = app
        self._wanted = [f"Bearer {token}".encode() for token in tokens]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and not self._is_let_through(scope):
            text = "no valid token: send `Authorization: Bearer TOKEN`"
            headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": json.dumps({"errors": [text]}).encode()})
            return
        await self._app(scope, receive, send)

    def _is_let_through(self, scope: Any) -> bool:
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        # All of them, so that the time it takes tells nothing.
        return any([hmac.compare_digest(given, wanted) for wanted in self._wanted])
