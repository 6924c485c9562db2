"""How long, how often, how much: what a client may spend on one server."""

from __future__ import annotations

import msgspec

MIB = 1 << 20


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    connect_seconds: float = 10
    # silence in the middle of an answer
    idle_seconds: float = 30
    # one try, to the last byte: a server that drips a byte a second is as good as silent
    try_seconds: float = 60
    # one question with all its tries and pauses
    call_seconds: float = 120
    # all of the work together (`--timeout`); 0 is without limit
    total_seconds: float = 0
    tries: int = 5
    # after silence; each costs `idle_seconds` or more
    tries_after_silence: int = 2
    first_pause_seconds: float = 0.2
    longest_pause_seconds: float = 15
    # requests at a time, and by the second with a first burst: what kubectl allows itself
    connections: int = 8
    per_second: float = 50
    burst: int = 100
    answer_bytes: int = 256 * MIB
    redirects: int = 5
    # Argo CD says 500 for every error that it has no number for: asking again changes nothing
    retries_internal_errors: bool = True
