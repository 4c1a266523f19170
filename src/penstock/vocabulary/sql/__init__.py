"""The words of tables that front end and runtime share: types, typed expressions, kinds of rows, functions."""
