"""A network namespace that has only loopback, for the duration of a `with` block.

Argo CD's application controller serves its metrics on all interfaces, and no flag limits it to loopback. In a
namespace of their own, it and the other programs can neither be reached from outside nor reach anything.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Generator
from typing import Final

_CLONE_NEWNET: Final = 0x40000000
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 0x1
_CURRENT: Final = "/proc/thread-self/ns/net"


@contextlib.contextmanager
def private_network() -> Generator[bool]:
    """Yield whether this thread, with the threads and programs it starts, is in a namespace of its own.

    It is not if the user may not create one: that needs root, or `unshare --map-root-user --net`.
    """
    try:
        before = os.open(_CURRENT, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # not Linux
        yield False
        return
    try:
        if not _entered():
            yield False
            return
        try:
            _bring_up_loopback()
            yield True
        finally:
            _check(ctypes.CDLL(None, use_errno=True).setns(before, _CLONE_NEWNET))
    finally:
        os.close(before)


def _entered() -> bool:
    return ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) == 0


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh22x", b"lo", 0)
        answer = fcntl.ioctl(control, _SIOCGIFFLAGS, request)
        flags: int = struct.unpack_from("16sh", answer)[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
