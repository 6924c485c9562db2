"""Errors of templates."""

from __future__ import annotations


class TemplateError(Exception):
    """Go reports an error for this template too; the text is close to Go's.

    `is_missing_key` is set if a map has no such key.
    """

    def __init__(self, message: str, *, is_missing_key: bool = False) -> None:
        super().__init__(message)
        self.is_missing_key = is_missing_key


class NotEvaluated(Exception):
    """Only whysync does not evaluate it: its result is random, depends on the time, or takes too long."""
