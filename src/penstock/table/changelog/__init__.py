"""Which kinds of rows each node of a plan puts out: insertions, updates with or without the old row, deletes."""
