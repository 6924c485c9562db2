"""An app of which nothing is deployed yet, on a cluster as it was found."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.plan.shop import APP, Shop
from tests.plan.test_plan import only_app, planned_changes
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import fields
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.plan.plan import PlannedCluster, Run, State

_NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}, status: {phase: Active}}"
_QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: shop}
spec: {hard: {services: "0"}}
"""
_PROJECT = """\
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
  destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: deployer}]
"""
_SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd}
data: {application.sync.impersonation.enabled: "true"}
"""
_RIGHTS = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: deployer, namespace: shop}
rules: [{apiGroups: ["", apps], resources: [configmaps, deployments], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: deployer, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer}
subjects: [{kind: ServiceAccount, name: deployer, namespace: shop}]
"""


def manifests(role: Role, *texts: str) -> tuple[Manifest, ...]:
    return tuple(
        Manifest(fields(document), role=role) for text in texts for document in yaml.safe_load_all(text)
    )


def planned(tmp_path: Path, *live: str, settings: str = "") -> Run:
    shop = Shop(tmp_path / "shop")
    shop.git("checkout", "-q", "main")
    root = shop.git("commit-tree", "-m", "empty", shop.git("hash-object", "-t", "tree", "/dev/null"))
    facts = Snapshot(
        applications=manifests(
            Role.APPLICATION, APP.replace("    syncOptions: [CreateNamespace=true]\n", "")
        ),
        live=manifests(Role.LIVE, *live),
        settings=manifests(Role.SETTINGS, settings) if settings else (),
        projects=manifests(Role.PROJECT, _PROJECT) if settings else (),
    )
    app = only_app(planned_changes(shop, base=root, live=facts))
    (live_run,) = [run for run in app.runs if run.cluster is PlannedCluster.LIVE]
    return live_run


def test_it_passes_where_everything_is_there(tmp_path: Path) -> None:
    assert planned(tmp_path, _NAMESPACE).passed


def test_a_quota_that_nobody_has_counted_yet(tmp_path: Path) -> None:
    run = planned(tmp_path, _NAMESPACE, _QUOTA)
    assert not run.passed
    assert "exceeded quota: q, requested: services=1" in run.message


def test_rights_that_the_facts_do_not_have_are_taken_for_granted(tmp_path: Path) -> None:
    run = planned(tmp_path, _NAMESPACE, settings=_SETTINGS)
    assert run.passed, run.message
    assumptions = set(map(str, run.assumptions))
    assert "the account of the sync is assumed to have the permissions that it needs" in assumptions


def test_rights_that_they_have_count(tmp_path: Path) -> None:
    run = planned(tmp_path, _NAMESPACE, _RIGHTS, settings=_SETTINGS)
    assert not run.passed
    failed = [item for step in run.steps for item in step.items if item.state is State.FAILED]
    assert [item.ref.kind for item in failed] == ["Service"]
    assert 'cannot get resource "services"' in failed[0].note
