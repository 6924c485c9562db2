"""Limits of the HTTP client and of exec plugins: time, size and number of requests.

All limits of live sources are here; docs/live.md lists them for users.
"""

from __future__ import annotations

import msgspec

from whysync.deadline import Deadline

MIB = 1 << 20


class HttpLimits(msgspec.Struct, frozen=True, kw_only=True):
    connect_seconds: float = 10
    # silence within a response
    idle_seconds: float = 30
    # one attempt, to the last byte
    try_seconds: float = 60
    # one request with all attempts and pauses
    call_seconds: float = 120
    # everything together (`--timeout`)
    deadline: Deadline = Deadline()
    tries: int = 5
    # after silence; each costs `idle_seconds` or more
    tries_after_silence: int = 2
    first_pause_seconds: float = 0.2
    longest_pause_seconds: float = 15
    # concurrent requests, and requests per second with an initial burst: kubectl's own limits
    connections: int = 8
    per_second: float = 50
    burst: int = 100
    # of one response, after decompression
    answer_bytes: int = 256 * MIB
    redirects: int = 5
    # Argo CD returns 500 for errors without a status of their own: a retry does not help
    retries_internal_errors: bool = True
    # of one Kubernetes list: pages, restarts after an expired page (410), objects
    list_pages: int = 2_000
    list_restarts: int = 10
    list_objects: int = 100_000
    # group versions that discovery requests one by one, for servers before 1.26
    discovery_requests: int = 2_000


# Exec plugins of a kubeconfig, and kubectl for --port-forward. Both also end at the deadline.
LOGIN_SECONDS = 120.0
# A user may have to log in with a browser and a second factor.
INTERACTIVE_LOGIN_SECONDS = 600.0
PORT_FORWARD_SECONDS = 30.0
PROGRAM_OUTPUT = 1 * MIB
