"""Fixes that destroy something are applied as printed, and destroy exactly what they say.

Each needs a scenario of its own: the cluster is another one afterwards. Without `--all-scenarios`, two are
played.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from suites.argocd.answers import Answers
from suites.argocd.cleaning import Cleaner
from suites.argocd.fixing import SOURCE, apply_fix
from suites.argocd.known import known
from suites.argocd.real_play import RealPlay
from suites.argocd.shortened import shortened
from tools.real_argocd.running import RealArgoCD
from whysync.json_tree import Json, Object, dig, fields, items, same, text
from whysync.kubernetes.apiserver.protocol import Request
from whysync.lab import library

LOST: Final[Mapping[str, frozenset[str]]] = {
    "branch-deleted": frozenset(
        {
            "Application argocd/checkout-preview",
            "ConfigMap checkout-preview/checkout",
            "Deployment checkout-preview/checkout",
        }
    ),
    "dead-webhook": frozenset({"ValidatingWebhookConfiguration gatekeeper-validating-webhook-configuration"}),
    "empty-source": frozenset({"ConfigMap reports/reports", "Deployment reports/reports"}),
    "finalizer-stuck": frozenset({"Bucket media/thumbnails"}),
    "hook-leftover": frozenset({"Job billing/billing-migrate"}),
    "immutable-selector": frozenset({"Deployment api/api"}),
    "namespace-terminating": frozenset({"Namespace orders", "PostgresCluster orders/orders-db"}),
    "pending-prune": frozenset({"ConfigMap web/web-feature-flags"}),
    "prune-confirm": frozenset(
        # The sync that waited goes on, and applies what changed in Git.
        {"PersistentVolumeClaim search/search-index", "ConfigMap search/search /data/backend"}
    ),
    "prune-forbidden": frozenset({"PersistentVolumeClaim search/search-index"}),
    # The rollout that was paused goes on.
    "rollout-paused": frozenset({"Deployment shop/catalog /spec/paused", "Pod of Deployment shop/catalog"}),
    "scaled-by-hand": frozenset(
        {"Deployment payments/payments-api /spec/replicas", "Pod of Deployment payments/payments-api"}
    ),
    "suspended-by-hand": frozenset({"CronJob housekeeping/purge-sessions /spec/suspend"}),
}
"""What is lost by the first fix that destroys something: objects with all that they own, and values."""
SUBSET: Final = ("pending-prune", "scaled-by-hand")
_TRANSIENT: Final = frozenset({"Event", "Lease", "Endpoints", "EndpointSlice", "Node", "CSINode", "Stage"})
_STEADY_SECONDS: Final = 6.0
_LONGEST_SECONDS: Final = 90.0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "scenario" in metafunc.fixturenames:
        everything = bool(metafunc.config.getoption("--all-scenarios"))
        metafunc.parametrize("scenario", tuple(LOST) if everything else SUBSET)


def test_a_destructive_fix_destroys_what_it_says(
    scenario: str, argocd: RealArgoCD, cleaner: Cleaner, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cleaner.wait_until_deleted(library.built_in(scenario).text)
    play = RealPlay(
        argocd,
        shortened(library.built_in(scenario), argocd.version),
        is_known=lambda difference: known(scenario, str(difference), argocd.version) is not None,
    )
    answers = Answers(play, tmp_path_factory.mktemp("answers"))
    try:
        with play.played():
            report = answers.diagnosed(play.app, answers.flags(SOURCE))
            destructive = next(_destructive(report), None)
            assert destructive, json.dumps(report.get("findings"))
            finding, pick, fix = destructive
            before = _objects(argocd)
            chosen = ("--finding", str(finding), "--pick", str(pick))
            problem, commands = apply_fix(play, answers, play.app, text(dig(fix, "kind")), chosen)
            assert not problem, problem
            lost = _lost_for_good(argocd, before)
            said = ", ".join(text(one) for one in items(fix.get("destroys")))
            assert lost == LOST[scenario], f"it says that it destroys {said}\n{commands}"
    finally:
        argocd.start_controller()
        cleaner.clean()


def _destructive(report: Object) -> Iterator[tuple[int, int, Object]]:
    """The fixes that say that they destroy something, each with the numbers of its finding and its own."""
    for number, finding in enumerate(items(report.get("findings")), 1):
        for pick, fix in enumerate(items(dig(finding, "fixes")), 1):
            if items(dig(fix, "destroys")):
                yield number, pick, fields(fix)


def _lost_for_good(argocd: RealArgoCD, before: Mapping[str, Object]) -> frozenset[str]:
    """What is lost when nothing more is lost for some seconds."""
    lost, since = frozenset[str](), time.monotonic()
    until = time.monotonic() + _LONGEST_SECONDS
    while time.monotonic() < until and time.monotonic() - since < _STEADY_SECONDS:
        now = _lost(before, _objects(argocd))
        if now != lost:
            lost, since = now, time.monotonic()
        time.sleep(1)
    return lost


def _objects(argocd: RealArgoCD) -> dict[str, Object]:
    """Every object outside of the namespaces of Kubernetes, by its uid."""
    client = argocd.kubernetes.client
    found: dict[str, Object] = {}
    for kind in client.kinds():
        answer = client.send(Request(verb="list", path=kind.collection("")))
        listed = items((answer.body or {}).get("items")) if answer.ok else []
        for body in map(fields, listed if kind.kind not in _TRANSIENT else []):
            if not text(dig(body, "metadata", "namespace")).startswith("kube-"):
                found[text(dig(body, "metadata", "uid"))] = {**body, "kind": kind.kind}
    return found


def _lost(before: Mapping[str, Object], after: Mapping[str, Object]) -> frozenset[str]:
    lost: set[str] = set()
    for uid, body in before.items():
        owner = _owner(body, before)
        if uid in after:
            if owner is None:
                lost |= {f"{_name(body)} {pointer}" for pointer in _changed(body, after[uid])}
            continue
        if owner is None:
            lost.add(_name(body))
        elif text(dig(owner, "metadata", "uid")) in after:
            lost.add(f"{text(body['kind'])} of {_name(owner)}")
    return frozenset(lost)


def _owner(body: Object, every: Mapping[str, Object]) -> Object | None:
    """The object that owns this one in the end: of a Pod, the Deployment."""
    owner: Object | None = None
    while references := items(dig(body, "metadata", "ownerReferences")):
        above = every.get(text(dig(references[0], "uid")))
        if above is None:
            break
        owner = body = above
    return owner


def _name(body: Object) -> str:
    space, name = (text(dig(body, "metadata", part)) for part in ("namespace", "name"))
    return f"{text(body['kind'])} {space}/{name}" if space else f"{text(body['kind'])} {name}"


def _changed(before: Object, after: Object) -> Iterator[str]:
    """Pointers to values that a person could have set, and that are not the same any more."""
    for part in ("spec", "data"):
        if before["kind"] != "Application":
            yield from _different(f"/{part}", before.get(part), after.get(part))


def _different(pointer: str, before: Json, after: Json) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from _different(f"{pointer}/{key}", value, after.get(key))
    elif before is not None and not same(before, after):
        yield pointer
