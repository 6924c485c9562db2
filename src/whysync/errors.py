"""Every error that a user can meet. Each says what happened, why, and what to do next.

    WhysyncError
    ├── UsageError           the command line or the configuration asks for something impossible
    ├── Refused              it could be tried, and would do harm or be a guess: nothing was written
    └── SourceError          the facts could not be read at all
        ├── NoSource         nothing says where the facts come from
        ├── NotFound         a file, an Application or a rule of that name is not there
        ├── Unreadable       it is there, and it is not what it should be (broken archive, junk)
        └── TooLarge         it goes beyond a stated limit

A fact that could not be had, while the rest could, is a `Gap`, not an error.
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
