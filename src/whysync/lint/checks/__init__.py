"""Lint checks, one per module. The file name is the id; the docstring has the reason and examples."""
