"""Every fault on every call: what passes is waited for, what stays is told, and nothing hangs."""

from __future__ import annotations

from functools import cache
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from tests.clock import steady_time
from tests.facts.http.faulty import FakeRequest, FakeResponse, RequestHandler, json_response
from tests.facts.kubernetes_api.fake_api import FakeApi
from tests.facts.kubernetes_api.reading import QUICK, read
from tests.facts.kubernetes_api.world import LOGS, thing, world
from whysync.deadline import Deadline
from whysync.errors import SourceError
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json

APP = Selection(names=("argocd/api",))


def facts(snapshot: Snapshot) -> object:
    live = [(str(live_object.ref), live_object.body) for live_object in (*snapshot.live, *snapshot.events)]
    return live, snapshot.logs, [application.body for application in snapshot.applications], snapshot.gaps


@cache
def clean() -> tuple[object, tuple[str, ...]]:
    api = FakeApi(world(), logs=LOGS)
    result = facts(read(api, APP))
    return result, tuple(dict.fromkeys(urlsplit(path).path for path in api.paths))


PASSING = {
    "reset": FakeResponse(how="reset"),
    "hang": FakeResponse(how="hang"),
    "drip": FakeResponse(body=b" " * 500, how="drip"),
    "cut": FakeResponse(body=b'{"items": [], "metadata": {}}', how="cut"),
    "truncated JSON": FakeResponse(body=b'{"items": ['),
    "429": json_response({"message": "slow down"}, 429, Retry_After="0"),
    "500": json_response({"message": "etcdserver: leader changed"}, 500),
    "503": FakeResponse(503, b"starting"),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_temporary_fault_on_every_call_changes_nothing(fault: FakeResponse) -> None:
    api = FakeApi(world(), logs=LOGS)
    visited: set[str] = set()

    def answering(request: FakeRequest) -> FakeResponse:
        first, _ = request.target not in visited, visited.add(request.target)
        is_log = "/log?" in request.target  # a log is any text, so noise is a valid log
        return (
            fault if first and not (is_log and fault.status == 200 and fault.how == "whole") else api(request)
        )

    assert facts(read(answering, APP)) == clean()[0]


STAYING = {
    "403": json_response({"message": "it is forbidden"}, 403),
    "404": FakeResponse(404, b"404 page not found"),
    "wrong JSON": FakeResponse(body=b"[1, 2"),
    "another answer": json_response({"kind": "Something"}),
    "a list of anything": json_response({"items": [1, None, "x", {"metadata": 7}], "metadata": None}),
    "reset": FakeResponse(how="reset"),
}


# What is good to have and not worth a word: how Argo CD's own programs are installed, its events, its logins.
QUIET = (
    "/apis/apps/v1/namespaces/argocd/",
    "/api/v1/namespaces/argocd/events",
    "/api/v1/namespaces/argocd/secrets",
)


@pytest.mark.parametrize("fault", STAYING.values(), ids=STAYING.keys())
def test_a_permanent_fault_on_any_one_call_is_a_gap_or_an_error(fault: FakeResponse) -> None:
    complete, paths = clean()
    for path in paths:
        api = FakeApi(world(), logs=LOGS)

        def answering(request: FakeRequest, path: str = path, api: FakeApi = api) -> FakeResponse:
            return fault if urlsplit(request.target).path == path else api(request)

        result = read_or_fail(answering)
        if isinstance(result, SourceError):
            assert path in ("/api", "/apis") or "application" in path, path
        elif facts(result) != complete and not path.startswith(QUIET):
            # 404: gone since discovery. A log is any text.
            reported = bool(result.gaps) or fault.status == 404 or path.endswith("/log")
            assert reported, path


def read_or_fail(answering: RequestHandler) -> Snapshot | SourceError:
    try:
        return read(answering, APP)
    except SourceError as problem:
        return problem


def test_a_server_that_dies_in_the_middle_is_not_asked_a_hundred_times() -> None:
    api = FakeApi(world(), logs=LOGS)
    began = steady_time.monotonic()

    def answering(request: FakeRequest) -> FakeResponse:
        return api(request) if request.number < 12 else FakeResponse(how="hang")

    snapshot = read(answering, APP)
    assert steady_time.monotonic() - began < 5
    assert any("does not respond" in gap.why for gap in snapshot.gaps)


def test_credentials_that_end_in_the_middle() -> None:
    api = FakeApi(world(), logs=LOGS)

    def answering(request: FakeRequest) -> FakeResponse:
        return api(request) if request.number < 12 else json_response({"message": "Unauthorized"}, 401)

    snapshot = read(answering, APP)
    assert any("rejects these credentials" in gap.why for gap in snapshot.gaps)


@pytest.mark.parametrize("offers_continue", [True, False])
def test_a_page_that_has_expired_loses_nothing(*, offers_continue: bool) -> None:
    many = [thing("v1", "ConfigMap", f"c-{n:02d}", "api") for n in range(20)]
    api = FakeApi([*world(), *many], page=6)
    expired: list[str] = []

    def answering(request: FakeRequest) -> FakeResponse:
        continued = "continue=" in request.target and "/namespaces/api/configmaps" in request.target
        if continued and len(expired) < 3:
            expired.append(request.target)
            meta: Json = {"continue": request.target.partition("continue=")[2].partition("&")[0]}
            return json_response({"message": "too old", "metadata": meta if offers_continue else {}}, 410)
        return api(request)

    snapshot = read(answering, APP)
    names = [live_object.ref.name for live_object in snapshot.live if live_object.ref.kind == "ConfigMap"]
    assert sorted(names) == [f"c-{n:02d}" for n in range(20)]
    assert snapshot.gaps == ()


def test_a_page_that_never_comes_is_a_gap_and_the_first_ones_stay() -> None:
    many = [thing("v1", "ConfigMap", f"c-{n:02d}", "api") for n in range(20)]
    api = FakeApi([*world(), *many], page=6)

    def answering(request: FakeRequest) -> FakeResponse:
        lost = "continue=" in request.target and "configmaps" in request.target
        return FakeResponse(503, b"no") if lost else api(request)

    snapshot = read(answering, APP)
    assert len([live_object for live_object in snapshot.live if live_object.ref.kind == "ConfigMap"]) == 6
    assert any("some of the live configmaps in namespace api" in gap.what for gap in snapshot.gaps)


def test_the_time_limit_holds_and_what_was_read_is_kept() -> None:
    api = FakeApi(world(), logs=LOGS)
    limits = replace(QUICK, deadline=Deadline.after(0.6), idle_seconds=5, try_seconds=5)
    began = steady_time.monotonic()

    def answering(request: FakeRequest) -> FakeResponse:
        return FakeResponse(how="hang") if "/pods" in request.target else api(request)

    snapshot = read(answering, APP, limits=limits)
    assert steady_time.monotonic() - began < 4
    assert any("pods" in gap.what for gap in snapshot.gaps)
