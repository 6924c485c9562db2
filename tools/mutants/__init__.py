"""Mutation testing: make small changes and check that tests fail: `python -m tools.mutants`."""
