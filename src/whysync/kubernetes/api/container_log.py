"""The log of one container, as `kubectl logs` prints it."""

from __future__ import annotations

import msgspec


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """The log of one container; `previous` is the run before the present one."""

    namespace: str
    pod: str
    container: str
    lines: tuple[str, ...]
    previous: bool = False
    origin: str = ""
    cluster: str = ""
