"""A clock that advances only when it is set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class Clock:
    def __init__(self, start: datetime | None = None) -> None:
        self.now = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._stamped: tuple[datetime | None, str] = (None, "")
        self._told: tuple[datetime, str] | None = None

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def turn_to(self, instant: datetime) -> None:
        """Forward only: time that has passed stays passed."""
        self.now = max(self.now, instant)

    def stamp(self) -> str:
        """The time as objects carry it: whole seconds, UTC."""
        if self._told is None or self._told[0] is not self.now:
            self._told = (self.now, self.now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        return self._told[1]
