"""The methods of `Expression` by subject; what each means is in the catalog of SQL functions."""
