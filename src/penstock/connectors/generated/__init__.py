"""Sources that make their records: collections, sequences, generators."""
