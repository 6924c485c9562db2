"""The row that every CI format is written from."""

from __future__ import annotations

import msgspec

from whysync.diagnosis.finding import Severity


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """One result: a finding in a file, or the verdict on an app."""

    message: str
    severity: Severity | None = None
    """`None` if nothing is wrong: a test case that passed."""
    rule: str = ""
    help: str = ""
    """What to do about it."""
    title: str = ""
    file: str = ""
    line: int | None = None
    """`None` if it is about the whole file, or about no file."""
    fingerprint: str = ""
    """The same for the same problem on another line."""
    skipped: str | None = None
    """Why it does not count: the reason of a suppression, or why it could not be checked."""
    # JUnit only
    suite: str = ""
    failure_type: str = ""
    details: str = ""
    seconds: float | None = None

    @property
    def text(self) -> str:
        return f"{self.message} ({self.help})" if self.help else self.message
