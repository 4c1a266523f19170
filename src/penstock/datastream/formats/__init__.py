"""File formats, under PyFlink's paths."""
