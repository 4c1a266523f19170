"""Data structures that several operators work with: they know no state, no timers and no user code."""
