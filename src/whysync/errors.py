"""Errors that are shown to the user: what happened, why, and what to do next.

    WhysyncError
    ├── UsageError           invalid command line or configuration
    ├── Refused              the change would be harmful or a guess: nothing was written
    └── SourceError          the facts could not be read
        ├── NoSource         no source is configured
        ├── NotFound         a file, an Application or a rule does not exist
        ├── Unreadable       it exists but is invalid, such as a broken archive
        └── TooLarge         it exceeds a limit

A single fact that could not be read is a `Gap`, not an error.
"""

from __future__ import annotations


class WhysyncError(Exception):
    """What happened, why, and what to do next."""

    def __init__(self, *, what: str, why: str = "", next: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.next = next


class UsageError(WhysyncError):
    pass


class Refused(WhysyncError):
    pass


class SourceError(WhysyncError):
    pass


class NoSource(SourceError):
    pass


class NotFound(SourceError):
    pass


class Unreadable(SourceError):
    pass


class TooLarge(SourceError):
    pass
