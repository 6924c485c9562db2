"""Every question meets every fault: nothing hangs, nothing is lost, and each fault has its word."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.clock import steady_time
from tests.facts.argocd_api.scenes import application, of, shop
from tests.facts.argocd_api.server import QUICK, ArgoCD, Fault
from whysync.deadline import Deadline
from whysync.errors import SourceError
from whysync.facts.argocd_api import read_argocd
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Snapshot

# Without the first of these there is nothing to say; without another the rest is still worth saying.
NEEDED = "/api/v1/applications\\?|/api/v1/applications$"
REST = {
    "settings": "/api/v1/settings",
    "projects": "/api/v1/projects",
    "clusters": "/api/v1/clusters",
    "repositories": "/api/v1/repositories",
    "tree": "/resource-tree",
    "managed": "/managed-resources",
    "manifests": "/manifests",
    "resource": "/resource\\?",
    "events": "/shop/events\\?appNamespace=argocd&project=default$",
    "events of a Pod": "resourceUID",
    "logs": "/pods/",
}
NICE = {
    "version": "/api/version",
    "account": "/userinfo",
    "can-i": "/can-i/",
    "windows": "/syncwindows",
}


def read(path: str, fault: Fault, *, times: int = 1_000_000) -> tuple[Snapshot, float]:
    with ArgoCD(shop()) as argocd:
        argocd.fault(path, fault, times=times)
        begun = steady_time.monotonic()
        snapshot = read_argocd(argocd.server(limits=QUICK), Selection(), everything=True)
        return snapshot, steady_time.monotonic() - begun


@pytest.fixture(scope="module")
def complete() -> Snapshot:
    with ArgoCD(shop()) as argocd:
        return read_argocd(argocd.server(limits=QUICK), Selection(), everything=True)


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("question", REST)
def test_a_fault_is_a_gap_and_everything_else_is_read(
    question: str, fault: Fault, complete: Snapshot
) -> None:
    snapshot, took = read(REST[question], fault)
    assert took < 10
    assert [application.ref for application in snapshot.applications] == [
        application.ref for application in complete.applications
    ]
    if question == "logs" and fault in (Fault.A_LIST, Fault.EMPTY, Fault.GARBLED, Fault.A_PAGE):
        assert snapshot.logs == ()  # an empty stream: the kubelet has no log
        return
    assert snapshot.gaps, "what is missing is reported"
    for gap in snapshot.gaps:
        assert gap.what
        assert gap.why
        assert gap.how_to_get
        assert "Traceback" not in gap.why
    if question not in ("settings", "projects", "clusters", "repositories", "events"):
        assert any("argocd/shop" in gap.what for gap in snapshot.gaps)
    for section in ("projects", "settings", "live", "events"):
        if not any(name in question for name in (section, "tree", "managed", "resource", "events")):
            assert len(getattr(snapshot, section)) == len(getattr(complete, section)), section


@pytest.mark.parametrize("fault", [Fault.FORBIDDEN, Fault.BROKEN, Fault.GARBLED, Fault.RESET])
@pytest.mark.parametrize("question", NICE)
def test_a_fault_of_an_optional_request_leaves_no_gap(
    question: str, fault: Fault, complete: Snapshot
) -> None:
    snapshot, _ = read(NICE[question], fault)
    assert snapshot.gaps == complete.gaps == ()
    assert len(snapshot.live) == len(complete.live)


@pytest.mark.parametrize("fault", Fault)
def test_without_applications_there_is_a_clear_error(fault: Fault) -> None:
    with pytest.raises(SourceError) as problem:
        read(NEEDED, fault)
    result = problem.value
    assert "127.0.0.1" in result.what or "/api/v1/applications" in result.what
    assert result.why


@pytest.mark.parametrize(
    "fault", [Fault.BUSY, Fault.BAD_GATEWAY, Fault.OVERLOADED, Fault.RESET, Fault.CUT_OFF, Fault.GARBLED]
)
@pytest.mark.parametrize("question", [NEEDED, "/resource-tree", "/managed-resources"])
def test_a_fault_that_passes_leaves_no_trace(question: str, fault: Fault, complete: Snapshot) -> None:
    snapshot, _ = read(question, fault, times=1)
    assert snapshot.gaps == ()
    assert [live_object.body for live_object in snapshot.live] == [
        live_object.body for live_object in complete.live
    ]


def test_a_server_that_is_gone_is_not_asked_on() -> None:
    with ArgoCD(shop()) as argocd:
        argocd.fault("/applications/shop", Fault.SILENT)
        begun = steady_time.monotonic()
        snapshot = read_argocd(argocd.server(limits=QUICK), Selection(), everything=True)
        assert steady_time.monotonic() - begun < 6
    assert snapshot.gaps


def test_nobody_there() -> None:
    with ArgoCD(shop()) as argocd:
        server = argocd.server(limits=QUICK)
    with pytest.raises(SourceError) as problem:
        read_argocd(server, Selection())
    assert "127.0.0.1" in problem.value.what


def test_the_time_that_is_given_is_all_there_is() -> None:
    with ArgoCD(shop()) as argocd:
        argocd.fault("/resource-tree", Fault.SILENT)
        server = argocd.server(limits=QUICK)
        limits = replace(
            server.limits, idle_seconds=30, try_seconds=30, call_seconds=30, deadline=Deadline.after(0.5)
        )
        begun = steady_time.monotonic()
        snapshot = read_argocd(replace(server, limits=limits), Selection(), everything=True)
        assert steady_time.monotonic() - begun < 5
    assert snapshot.applications
    assert any("0.5 s" in gap.why or "in time" in gap.why for gap in snapshot.gaps)


def test_one_trouble_of_many_apps_is_told_once() -> None:
    apps = [application(f"app-{at:02}", health="Degraded") for at in range(12)]
    with ArgoCD(of(*apps)) as argocd:
        argocd.fault("/managed-resources", Fault.FORBIDDEN)
        snapshot = read_argocd(argocd.server(limits=QUICK), Selection())
    assert [gap.what for gap in snapshot.gaps] == [
        "live objects and their diff of argocd/app-00, argocd/app-01, argocd/app-02 and 9 more Applications"
    ]
