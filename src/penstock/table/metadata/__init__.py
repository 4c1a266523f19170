"""What is known about the rows of a plan node: keys, windows, monotonicity."""
