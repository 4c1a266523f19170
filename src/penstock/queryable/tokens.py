"""The tokens that a query server asks for: kept in a file of the user's, so that local clients find them."""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Sequence
from typing import Any

from penstock.job.cards import user_folder
from penstock.tokens import TOKEN, Role, checked_token, own_tokens_in


def own_tokens() -> dict[str, Role]:
    """The tokens of this user's servers: from the environment, or from the file that `penstock server` has too."""
    given = os.environ.get(TOKEN)
    if given:
        return {checked_token(given): Role.READ}
    return own_tokens_in(user_folder() / "server" / "tokens")


def own_token() -> str:
    """The token that a client of this user sends: one that may only read, if there is one."""
    tokens = own_tokens()
    return min(tokens, key=lambda token: tokens[token])


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
