"""Canonical, self-delimiting bytes of keys.

Equal keys (Python ``==``) give equal bytes, whatever their identity, so ``1``, ``1.0``, ``True`` and ``Decimal(1)``
share one encoding and decode as ``1``; an integral float therefore comes back as an int, a named tuple as a tuple,
an aware datetime in UTC. No encoding is a prefix of another one, so encodings can be concatenated and read back.
Ints of 64 bits keep their order; other encodings are ordered, but not in any order a user would expect.
"""

from __future__ import annotations

import pickle
from typing import Any

from penstock.keys.decoding import decode_key, read_key
from penstock.keys.encoding import encode_key, encode_keys

__all__ = ["decode_key", "encode_key", "encode_keys", "keeps_type", "read_key"]


def keeps_type(key: Any) -> bool:
    """Tell whether the key comes back from its bytes as what it was, type included."""
    kind = type(key)
    if kind is str or kind is int or kind is bytes or key is None:
        return True
    if kind is tuple:
        return all(map(keeps_type, key))
    try:
        # A false alarm (equal objects that pickle differently) only costs the space of the pickled original.
        return pickle.dumps(decode_key(encode_key(key)), 5) == pickle.dumps(key, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
