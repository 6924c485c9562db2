"""Leases: which of several processes records what a source reports.

Every process reads every source for its own pages. The one that holds the lease of a source also records: it
renews the lease in the transaction in which it records, so a process that was away for too long writes
nothing. The clock is that of the database.
"""

from __future__ import annotations

import os
import secrets
import socket
from datetime import timedelta
from typing import Final

from whysync.history.database import Database

DURATION: Final = timedelta(seconds=15)
"""How long the others wait for a process that does not renew its lease."""


class Leases:
    def __init__(self, database: Database, *, holder: str = "", duration: timedelta = DURATION) -> None:
        self._database = database
        self._milliseconds = round(duration.total_seconds() * 1000)
        self.holder = holder or f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"

    def take(self, name: str) -> bool:
        """Take or renew a lease; false if another process holds it. A database of one process needs none."""
        if not self._database.is_shared:
            return True
        now = self._database.now
        return bool(
            self._database.run(
                f"INSERT INTO leases (name, holder, expires_at) VALUES (?, ?, {now} + ?)"
                " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at"
                f" WHERE leases.holder = excluded.holder OR leases.expires_at <= {now}",
                name,
                self.holder,
                self._milliseconds,
            )
        )

    def release(self) -> None:
        """Leave all leases to the others at once."""
        if self._database.is_shared:
            self._database.run("DELETE FROM leases WHERE holder = ?", self.holder)
