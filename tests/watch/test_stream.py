"""While changes are streamed, a poll reads what changed instead of listing all Applications."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator

import pytest
from msgspec.structs import replace

from tests.facts.argocd_api.server import STEADY, ArgoCD
from tests.situations import ROOT
from whysync.app import FactSource
from whysync.errors import SourceError
from whysync.facts.application_watch import ApplicationChange
from whysync.facts.bundle import read_bundle
from whysync.watch.sources import LiveSource, Poll
from whysync.watch.stream import ApplicationStream


@pytest.fixture
def argocd() -> Iterator[ArgoCD]:
    with ArgoCD(read_bundle((str(ROOT / "examples" / "autoscaler-loop"),))) as argocd:
        yield argocd


def _source(argocd: ArgoCD) -> LiveSource:
    server = replace(argocd.server(), limits=STEADY)
    return LiveSource(FactSource(server=server), description="the tests")


def _names(polls: list[Poll]) -> list[str]:
    return [case.app.name for poll in polls for case in poll.cases]


def _change(version: str, *, deleted: bool = False) -> ApplicationChange:
    return ApplicationChange(namespace="argocd", name="my-api-service", version=version, deleted=deleted)


def test_without_a_stream_every_poll_lists_and_reads_only_what_changed(argocd: ArgoCD) -> None:
    source = _source(argocd)
    assert _names(list(source.poll())) == ["my-api-service"]
    before = len(argocd.log)
    [listed] = source.poll()
    assert listed.cases == ()
    assert listed.present is not None
    assert len(listed.present) == 1
    assert len(argocd.log) > before


def test_with_a_stream_nothing_is_requested_until_something_changes(argocd: ArgoCD) -> None:
    source = _source(argocd)
    list(source.poll())
    source.stream_began()
    list(source.poll())  # what changed before the stream began
    before = len(argocd.log)
    assert list(source.poll()) == []
    assert len(argocd.log) == before
    assert source.notice(_change("another"))
    assert _names(list(source.poll())) == ["my-api-service"]
    assert list(source.poll()) == []


def test_a_change_that_was_already_read_is_skipped(argocd: ArgoCD) -> None:
    source = _source(argocd)
    list(source.poll())
    assert not source.notice(_change("")), "the facts of the tests have no resourceVersion"


def test_a_deletion_and_the_end_of_the_stream_list_again(argocd: ArgoCD) -> None:
    source = _source(argocd)
    list(source.poll())
    source.stream_began()
    list(source.poll())
    assert source.notice(_change("x", deleted=True))
    [listed] = source.poll()
    assert listed.present is not None
    assert list(source.poll()) == []
    source.stream_ended()
    [listed] = source.poll()
    assert listed.present is not None


def test_the_thread_wakes_the_watcher_and_connects_again_after_an_error(argocd: ArgoCD) -> None:
    source = _source(argocd)
    list(source.poll())
    stop, woken = threading.Event(), threading.Event()
    attempts: list[int] = []

    async def follow() -> AsyncGenerator[ApplicationChange | None]:
        attempts.append(1)
        if len(attempts) == 1:
            raise SourceError(what="the server is away")
        yield None
        yield _change("new")
        await asyncio.Event().wait()  # a stream does not end by itself

    stream = ApplicationStream(source, follow, woken.set)
    thread = threading.Thread(target=stream.run, args=(stop,))
    thread.start()
    try:
        assert woken.wait(60)
        assert _names(list(source.poll())) == ["my-api-service"]
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()
    assert len(attempts) == 2
