"""A clock that advances only when it is set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class Clock:
    def __init__(self, start: datetime | None = None) -> None:
        self.now = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._stamp: tuple[datetime, str] | None = None

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def turn_to(self, instant: datetime) -> None:
        """Sets the time, forward only."""
        self.now = max(self.now, instant)

    def stamp(self) -> str:
        """The time in the format of object timestamps: whole seconds, UTC."""
        if self._stamp is None or self._stamp[0] is not self.now:
            self._stamp = (self.now, self.now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        return self._stamp[1]
