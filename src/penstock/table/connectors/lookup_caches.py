"""Options of tables about the cache of lookups, with Flink's keys."""

from __future__ import annotations

from penstock.runtime.lookups import CacheSettings
from penstock.table.connectors.options import Options

__all__ = ["CACHE_KEYS", "cache_of"]

CACHE_KEYS = {
    "lookup.cache": "NONE or PARTIAL: whether rows that were looked up are used again",
    "lookup.partial-cache.max-rows": "for how many keys at most",
    "lookup.partial-cache.expire-after-write": "for how long after they were looked up",
    "lookup.partial-cache.expire-after-access": "for how long after they were used last",
    "lookup.partial-cache.cache-missing-key": "whether that nothing was found is kept too (true)",
    "lookup.cache.max-rows": "the former name of lookup.partial-cache.max-rows",
    "lookup.cache.ttl": "the former name of lookup.partial-cache.expire-after-write",
    "lookup.cache.caching-missing-key": "the former name of lookup.partial-cache.cache-missing-key",
}


def cache_of(options: Options) -> CacheSettings | None:
    """The cache that a table's options ask for."""
    limit = options.integer("lookup.partial-cache.max-rows", options.integer("lookup.cache.max-rows"))
    written = options.millis("lookup.partial-cache.expire-after-write", options.millis("lookup.cache.ttl"))
    read = options.millis("lookup.partial-cache.expire-after-access")
    # As with Flink's former options, a size and an age are enough to ask for a cache.
    default = "PARTIAL" if "lookup.cache.max-rows" in options and "lookup.cache.ttl" in options else "NONE"
    if options.choice("lookup.cache", ("NONE", "PARTIAL"), default) == "NONE":
        return None
    former = options.boolean("lookup.cache.caching-missing-key", True)
    keeps_missing = options.boolean("lookup.partial-cache.cache-missing-key", former)
    return CacheSettings(limit, written, read, keeps_missing)
