"""Matching of patterns: the automaton, the matches it is in the middle of, and the operator that keeps them by key."""
