"""Limits of the HTTP client and of login programs: time, size and number of everything a server can drag out.

All limits of live sources are here; docs/live.md lists them for users.
"""

from __future__ import annotations

import msgspec

from whysync.deadline import Deadline

MIB = 1 << 20


class HttpLimits(msgspec.Struct, frozen=True, kw_only=True):
    connect_seconds: float = 10
    # silence in the middle of an answer
    idle_seconds: float = 30
    # one try, to the last byte: a server that sends a byte a second is as good as silent
    try_seconds: float = 60
    # one question with all its tries and pauses
    call_seconds: float = 120
    # all of the work together (`--timeout`)
    deadline: Deadline = Deadline()
    tries: int = 5
    # after silence; each costs `idle_seconds` or more
    tries_after_silence: int = 2
    first_pause_seconds: float = 0.2
    longest_pause_seconds: float = 15
    # requests at a time, and by the second with a first burst: what kubectl allows itself
    connections: int = 8
    per_second: float = 50
    burst: int = 100
    # of one answer, after decompression
    answer_bytes: int = 256 * MIB
    redirects: int = 5
    # Argo CD answers every error that has no status of its own with 500: another try changes nothing
    retries_internal_errors: bool = True
    # of one list of Kubernetes: pages, fresh starts after a page expired (410), objects
    list_pages: int = 2_000
    list_restarts: int = 10
    list_objects: int = 100_000
    # group versions that discovery asks for one by one, of a server before 1.26
    discovery_requests: int = 2_000


# Login programs (`exec` of a kubeconfig) and kubectl for --port-forward. Each ends at the deadline too.
LOGIN_SECONDS = 120.0
# A person may have to find a browser and a second factor first.
INTERACTIVE_LOGIN_SECONDS = 600.0
PORT_FORWARD_SECONDS = 30.0
PROGRAM_OUTPUT = 1 * MIB
