"""The algebra of a query: immutable nodes that the binder makes, rules rewrite and the translation reads."""
