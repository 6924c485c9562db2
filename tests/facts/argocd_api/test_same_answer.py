"""The same situation from a bundle, from Argo CD's API, and from what `collect` took: one answer.

As far as the facts reach: the API does not show policies, quotas, webhooks, CRDs or where a branch stands.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import cast

import pytest

from tests.facts.argocd_api.scenes import of_lab
from tests.facts.argocd_api.server import STEADY, ArgoCD
from tests.played import played
from whysync import app
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.argocd_api import read_argocd
from whysync.facts.bundle import read_bundle
from whysync.facts.collect import Target
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object, fields, items
from whysync.lab.library import names
from whysync.reports import diagnose_json, json_yaml

# The finding itself differs, since it rests on what the API does not show.
OTHER_FINDINGS = {
    "api-defaults": "the schema of a CRD",
    "argocd-rbac": "argocd-rbac-cm",
    "auto-sync-given-up": "a ResourceQuota",
    "polling-lag": "the head of a branch",
    "settings-broken": "argocd-cm as a whole",
}
# The same finding with less evidence for it.
LESS_EVIDENCE = {
    "app-in-unserved-namespace": "argocd-cmd-params-cm",
    "broken-health-check": "the script in argocd-cm",
    "broken-helm-values": "the head of a branch",
    "controller-down": "the head of a branch",
    "credentials-expired": "the Secret of a repository",
    "database-provisioning": "more: the health of a row, which the tree tells",
    "readiness-gate": "more: the health of a row, which the tree tells",
    "rollout-paused": "more: the health of a row, which the tree tells",
    "secret-store-refuses": "more: the health of a row, which the tree tells",
    "dead-webhook": "a webhook's configuration",
    "excluded-kind": "resource.exclusions in argocd-cm",
    "hook-deadline": "more: the health of a row, which the tree tells",
    "hook-leftover": "more: the health of a row, which the tree tells",
    "hook-without-node": "Nodes",
    "image-rewritten": "a webhook's configuration",
    "ingress-without-class": "IngressClasses",
    "job-suspended": "more: the health of a row, which the tree tells",
    "limit-range": "a LimitRange",
    "migration-dead-database": "more: the health of a row, which the tree tells",
    "merge-conflict-markers": "the head of a branch",
    "missing-service-account": "that an object is not there, among objects of its kind",
    "namespace-not-managed": "more: the namespaces of a cluster, in plain text",
    "namespace-terminating": "what is left in a namespace, and is none of the app's",
    "no-load-balancer": "that nobody has told anything of an object",
    "no-node-fits": "Nodes",
    "orphaned-object": "objects that are none of the app's",
    "overlay-without-file": "the head of a branch",
    "path-moved": "the head of a branch",
    "prune-confirm": "the reclaim policy of a PersistentVolume",
    "prune-forbidden": "the reclaim policy of a PersistentVolume",
    "quota": "a ResourceQuota",
    "random-password": "what was applied last, of a Secret",
    "retry-holds-old-commit": "events of the runs of a hook before the last one",
    "sidecar-injected": "a webhook's configuration",
    "stateful-rollback": "ControllerRevisions",
    "switched-off": "the head of a branch",
    "sync-timeout": "argocd-cmd-params-cm",
    "wave-stalled": "StorageClasses",
}
_LATELY = "Argo CD has long not compared it: asking for events would make it look, and reading must not"
# What is not among the facts, and is said to be missing.
NOT_TOLD = {
    "app-in-unserved-namespace": _LATELY,
    "controller-down": _LATELY,
    "project-deleted": "a project that is not there, or not shown to this account",
    "switched-off": _LATELY,
}
_MARK = re.compile(r"<masked \d+>|\+{8,}")


def answer(snapshot: Snapshot) -> list[Object]:
    """The findings of a snapshot with their evidence and fixes."""
    report = diagnose_json.report_v1(app.diagnose(app.cases(SnapshotIndex(snapshot)), prove=False))
    result = cast("Json", json.loads(_MARK.sub("<masked>", json_yaml.as_json(report))))
    apps = [fields(item) for item in items(fields(result)["apps"])]
    for item in apps:
        for key in ("gaps", "skipped", "safety", "changes"):
            del item[key]
        _without_row_health(item)
    return apps


def _without_row_health(value: Json) -> None:
    """A row that is cited: the API adds the health that the Application itself does not carry."""
    if isinstance(value, dict):
        if {"kind", "name", "status"} <= value.keys():
            value.pop("health", None)
        for item in value.values():
            _without_row_health(item)
    elif isinstance(value, list):
        for item in value:
            _without_row_health(item)


def rules(apps: list[Object]) -> list[list[Json]]:
    return [[fields(finding)["id"] for finding in items(app["findings"])] for app in apps]


def asked(argocd: ArgoCD) -> Snapshot:
    return read_argocd(argocd.server(limits=STEADY), Selection(), everything=True)


@cache
def by_bundle(name: str) -> list[Object]:
    return answer(played(name).snapshot())


@cache
def by_api(name: str) -> tuple[list[Object], bool]:
    """With whether anything could not be had."""
    with ArgoCD(of_lab(name)) as argocd:
        result = asked(argocd)
    return answer(result), bool(result.gaps)


@pytest.mark.parametrize("name", names())
def test_the_api_gives_the_answer_of_a_bundle(name: str) -> None:
    (from_api, has_gaps), from_bundle = by_api(name), by_bundle(name)
    assert has_gaps is (name in NOT_TOLD)
    assert [item["name"] for item in from_api] == [item["name"] for item in from_bundle]
    # Exactly those that are listed differ: a list that has become too long fails too.
    assert (rules(from_api) == rules(from_bundle)) is (name not in OTHER_FINDINGS)
    assert (from_api == from_bundle) is (name not in OTHER_FINDINGS and name not in LESS_EVIDENCE)


@pytest.mark.parametrize("name", names())
def test_what_was_collected_gives_the_answer_of_the_api(name: str, tmp_path: Path) -> None:
    with ArgoCD(of_lab(name)) as argocd:
        live = asked(argocd)
        source = app.FactSource(server=argocd.server(limits=STEADY), selection=Selection())
        collected = app.collect(source, Target.of(str(tmp_path / "collected.tar.gz")))
    read = read_bundle([collected.path])
    assert read.unknown == ()
    assert read.gaps == live.gaps == collected.gaps
    assert read.collected_at == live.collected_at
    assert [live_object.body for live_object in read.live] == [live_object.body for live_object in live.live]
    assert answer(read) == answer(live)
