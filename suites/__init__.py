"""Suites that need more than Python: each says what, and how to run it."""
