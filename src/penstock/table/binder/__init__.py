"""From a parsed query to algebra: names are looked up, types and time attributes inferred, subqueries made joins."""
