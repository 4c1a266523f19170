"""The jobs of the comparison, one module for each system; each is run by the Python of its own environment."""
