"""Rules that make a better plan of a plan: the same rows with less work, and steps that know about time and windows."""
