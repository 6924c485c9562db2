"""Run a function for many items in child processes that share the memory of this one."""

from __future__ import annotations

import gc
import os
import pickle
import selectors
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, TypeVar, cast

T = TypeVar("T")
_LENGTH = 8
_CHUNK = 1 << 20
_COLLECT_EVERY = 50
_LARGEST_BLOCK, _LEAST_BLOCKS = 25, 8


def cores() -> int:
    """The processor cores that this process may use; 1 where processes cannot share memory by a fork."""
    if not sys.platform.startswith("linux"):
        return 1
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        return 1  # a lock that another thread holds would stay locked in the child
    return len(os.sched_getaffinity(0))


def forked(work: Callable[[int], T], items: Sequence[int], processes: int) -> Iterator[tuple[int, T]]:
    """Each item with its result, in the order in which they are ready.

    Results are pickled. A child that fails or is killed leaves items out: the caller handles those itself.
    """
    children = [_child(work, _share(items, number, processes)) for number in range(processes)]
    try:
        with selectors.DefaultSelector() as selector:
            for _, stream in children:
                selector.register(stream, selectors.EVENT_READ, bytearray())
            while selector.get_map():
                for key, _ in selector.select():
                    stream, received = cast("BinaryIO", key.fileobj), cast("bytearray", key.data)
                    chunk = os.read(stream.fileno(), _CHUNK)
                    if not chunk:
                        selector.unregister(stream)
                    received += chunk
                    yield from cast("Iterator[tuple[int, T]]", _complete(received))
    finally:
        for pid, stream in children:
            _end(pid, stream)


def _end(pid: int, stream: BinaryIO) -> None:
    stream.close()
    os.kill(pid, signal.SIGKILL)  # it has ended, or its results are not wanted any more
    os.waitpid(pid, 0)


@contextmanager
def in_background(work: Callable[[], T], *, if_worth_it: bool) -> Generator[Callable[[], T]]:
    """Do the work in a child process meanwhile; the result is what the yielded function returns.

    If it is not worth a process, there is no core for it, or the child fails, that function does the work.
    """
    if not if_worth_it or cores() == 1:
        yield work
        return
    pid, stream = _child(lambda _: work(), (0,))

    def result() -> T:
        for answer in _complete(bytearray(stream.read())):
            return cast("tuple[int, T]", answer)[1]
        return work()

    try:
        yield result
    finally:
        _end(pid, stream)


def all_of(
    work: Callable[[int], T], count: int, *, many: int, done: Callable[[int], None] | None = None
) -> list[T]:
    """The results for the items 0 to `count`, in this order; from `many` on in a process per core.

    `done` is called with the number of results so far. What a process leaves out is done here.
    """
    found: dict[int, T] = {}
    processes = cores() if count >= many else 1
    if processes > 1:
        for item, result in forked(work, range(count), processes):
            found[item] = result
            if done is not None:
                done(len(found))
    for item in range(count):
        if item not in found:
            found[item] = work(item)
            if done is not None:
                done(len(found))
    return [found[item] for item in range(count)]


def _share(items: Sequence[int], number: int, processes: int) -> list[int]:
    """Every n-th block of items: what a process touches is copied for it, by pages with neighboring items."""
    size = max(1, min(_LARGEST_BLOCK, len(items) // (processes * _LEAST_BLOCKS)))
    blocks = range(number * size, len(items), processes * size)
    return [item for start in blocks for item in items[start : start + size]]


def _complete(received: bytearray) -> Iterator[object]:
    """Take the complete results from the bytes received so far."""
    while len(received) >= _LENGTH:
        end = _LENGTH + int.from_bytes(received[:_LENGTH], "big")
        if len(received) < end:
            return
        result = pickle.loads(received[_LENGTH:end])
        del received[:end]
        yield result


def _child(work: Callable[[int], object], items: Sequence[int]) -> tuple[int, BinaryIO]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, os.fdopen(reading, "rb", buffering=0)
    # Whatever happens, the child must not return into the code of its parent.
    try:
        os.close(reading)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets Ctrl-C as well, and ends its children
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        gc.freeze()  # what is shared stays shared: the collector would write to it
        with os.fdopen(writing, "wb") as stream:
            for number, item in enumerate(items, start=1):
                data = pickle.dumps((item, work(item)), pickle.HIGHEST_PROTOCOL)
                stream.write(len(data).to_bytes(_LENGTH, "big") + data)
                if number % _COLLECT_EVERY == 0:
                    gc.collect()
                    gc.freeze()
    except BaseException:
        os._exit(1)
    os._exit(0)
