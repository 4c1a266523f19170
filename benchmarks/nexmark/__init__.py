"""Nexmark: the queries q0 to q22 of an auction site, in Penstock and in Flink SQL, on the same events."""
