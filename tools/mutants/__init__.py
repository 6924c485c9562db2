"""Small mistakes put into the code on purpose, to see whether its tests notice: `python -m tools.mutants`."""
