"""One situation, three ways to it: a bundle, Argo CD's API, a kubeconfig. One answer."""

from __future__ import annotations

import tempfile
from email.utils import format_datetime
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from msgspec.structs import replace

from tests.facts.argocd_api.scenes import of_lab
from tests.facts.argocd_api.server import STEADY, ArgoCD
from tests.facts.argocd_api.test_same_answer import (
    NOT_TOLD,
    OTHER_FINDINGS,
    answer,
    by_api,
    by_bundle,
    rules,
)
from tests.facts.http.faulty import FakeRequest, FakeResponse
from tests.facts.kubernetes_api.fake_api import KINDS, FakeApi, kubeconfig
from tests.facts.kubernetes_api.reading import QUICK, serving
from tests.played import played
from whysync.app import FactSource, snapshot
from whysync.facts.kubernetes_api import KubeAccess, read_kubernetes
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.ref import group_of, ref_of
from whysync.lab.library import names


class Cluster(FakeApi):
    """The API server of a situation, with its kinds and on its clock."""

    def __init__(self, snapshot: Snapshot) -> None:
        groups = (
            snapshot.live, snapshot.applications, snapshot.projects, snapshot.settings, snapshot.events
        )  # fmt: skip
        result = {(item.ref.group, *item.key): item.body for group in groups for item in group}
        ends = {True: ".previous", False: ""}
        logs = {
            f"{log.pod}/{log.container}{ends[log.previous]}": "".join(f"{line}\n" for line in log.lines)
            for log in snapshot.logs
        }
        super().__init__(result.values(), logs=logs)
        self.now = snapshot.collected_at
        defined = {_definition(obj) for obj in self.objects if obj.get("kind") == "CustomResourceDefinition"}
        plurals = {(group, kind): plural for group, kind, plural in defined}
        self.kinds = dict(KINDS)
        for obj in self.objects:
            ref = ref_of(obj)
            plural = plurals.get((ref.group, ref.kind)) or _plural(ref.kind)
            self.kinds.setdefault(f"{ref.api_version}/{ref.kind}", (plural, bool(ref.namespace)))

    def __call__(self, request: FakeRequest) -> FakeResponse:
        url = urlsplit(request.target)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        result = self._answer(unquote(url.path), query, request)
        assert self.now is not None
        return FakeResponse(
            result.status, result.body, {**result.headers, "Date": format_datetime(self.now, usegmt=True)}
        )

    def _listed(self, group: str, plural: str, namespace: str) -> list[Object]:
        return [
            obj
            for obj in self.objects
            if group_of(text(obj.get("apiVersion"))) == group
            and self.kinds[f"{obj.get('apiVersion')}/{obj.get('kind')}"][0] == plural
            and (not namespace or dig(obj, "metadata", "namespace") == namespace)
        ]


def _definition(body: Object) -> tuple[str, str, str]:
    names = ("group",), ("names", "kind"), ("names", "plural")
    group, kind, plural = (text(dig(body, "spec", *path)) for path in names)
    return group, kind, plural


def _plural(kind: str) -> str:
    small = kind.lower()
    return f"{small[:-1]}ies" if small.endswith("y") else f"{small}es" if small.endswith("s") else f"{small}s"


@cache
def from_cluster(name: str) -> Snapshot:
    """A cluster with the rendered manifests, which the Kubernetes API does not have."""
    scene = of_lab(name)
    with serving(Cluster(scene)) as server, tempfile.TemporaryDirectory() as home:
        for app, manifests in scene.desired.items():
            folder = Path(home) / "git" / app.replace("/", "_")
            folder.mkdir(parents=True)
            text = "---\n".join(yaml.dump(manifest.body) for manifest in manifests)
            (folder / "all.yaml").write_text(text)
        access = KubeAccess(
            kubeconfig=str(kubeconfig(Path(home), server.url)),
            limits=QUICK,
            environment={},
            namespace="argocd",
        )
        # Where Argo CD does not look by itself, somebody has to say where to look.
        selection = Selection(local=str(Path(home) / "git") if scene.desired else "", all_namespaces=True)
        return read_kubernetes(access, selection, everything=True)


# The app goes to a cluster to which no context of the kubeconfig leads, and that is said.
AWAY = ("cluster-away", "cluster-token-revoked", "cluster-unknown", "namespace-not-managed")
# The source is empty: no files can say that to a reader of files.
EMPTY = ("empty-source",)
# What no cluster tells.
BEYOND = {
    "broken-helm-values": "the head of a branch",
    "controller-down": "the head of a branch",
    "merge-conflict-markers": "the head of a branch",
    "overlay-without-file": "the head of a branch",
    "path-moved": "the head of a branch",
    "polling-lag": "the head of a branch",
    "argocd-rbac": "the log of an Argo CD server that runs nowhere",
    "switched-off": "the head of a branch",
}


@pytest.mark.parametrize("name", names())
def test_a_kubeconfig_gives_the_answer_of_a_bundle(name: str) -> None:
    result = from_cluster(name)
    assert bool(result.gaps) is (name in {*AWAY, *EMPTY})
    # Plain files of Git have no namespace where they leave it out; the source fills it in, as Argo CD does.
    bundle_snapshot = replace(played(name).snapshot(), desired=result.desired)
    assert (answer(result) == answer(bundle_snapshot)) is (name not in BEYOND)


ALIKE = [name for name in names() if name not in {*OTHER_FINDINGS, *BEYOND}]


def test_the_facts_of_all_three_reach_far() -> None:
    assert len(ALIKE) > len(names()) * 0.8


@pytest.mark.parametrize("name", ALIKE[::6])
def test_all_three_name_the_same_causes(name: str) -> None:
    assert rules(by_api(name)[0]) == rules(answer(from_cluster(name))) == rules(by_bundle(name))


# With both at hand: what Git wants from Argo CD, and what only the cluster knows.
LEFT = {
    "broken-helm-values": "the head of a branch",
    "controller-down": "the head of a branch",
    "merge-conflict-markers": "the head of a branch",
    "overlay-without-file": "the head of a branch",
    "path-moved": "the head of a branch",
    "argocd-rbac": "the log of an Argo CD server that runs nowhere",
    "database-provisioning": "more: the health of a row, which the tree tells",
    "ingress-without-class": "more: the health of a row, which the tree tells",
    "readiness-gate": "more: the health of a row, which the tree tells",
    "rollout-paused": "more: the health of a row, which the tree tells",
    "secret-store-refuses": "more: the health of a row, which the tree tells",
    "hook-deadline": "more: the health of a row, which the tree tells",
    "hook-leftover": "more: the health of a row, which the tree tells",
    "job-suspended": "more: the health of a row, which the tree tells",
    "migration-dead-database": "more: the health of a row, which the tree tells",
    "namespace-terminating": "more: the health of a row, which the tree tells",
    "no-load-balancer": "more: the health of a row, which the tree tells",
    "polling-lag": "the head of a branch",
    "random-password": "what was applied last, of a Secret",
    "retry-holds-old-commit": "more: the health of a row, which the tree tells",
    "switched-off": "the head of a branch",
    "wave-stalled": "more: the health of a row, which the tree tells",
}


@pytest.mark.parametrize("name", names())
def test_argocd_and_the_cluster_together_give_the_answer_of_a_bundle(name: str, tmp_path: Path) -> None:
    scene = of_lab(name)
    with ArgoCD(scene) as argocd, serving(Cluster(of_lab(name))) as server:
        config = str(kubeconfig(tmp_path, server.url))
        access = KubeAccess(kubeconfig=config, limits=QUICK, environment={}, namespace="argocd")
        source = FactSource(
            server=argocd.server(limits=STEADY), kube=access, selection=Selection(names=all_of(scene))
        )
        result = snapshot(source)
    assert bool(result.gaps) is (name in {*NOT_TOLD, *AWAY, *EMPTY})
    assert (answer(result) == by_bundle(name)) is (name not in LEFT)


def all_of(scene: Snapshot) -> tuple[str, ...]:
    return tuple(application.ref.place for application in scene.applications)


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("shared-resource", "server"),
        ("shared-resource", "core"),
        ("shared-resource", "both"),
        # Argo CD's API does not show an object that the Application may not take over.
        ("shared-resource-refused", "core"),
        ("shared-resource-refused", "both"),
    ],
)
def test_the_other_owner_of_a_shared_object_is_read_too(name: str, sources: str, tmp_path: Path) -> None:
    scene = of_lab(name)
    with ArgoCD(scene) as argocd, serving(Cluster(scene)) as server:
        config = str(kubeconfig(tmp_path, server.url))
        access = KubeAccess(kubeconfig=config, limits=QUICK, environment={}, namespace="argocd")
        read = {
            application: snapshot(
                FactSource(
                    server=argocd.server(limits=STEADY) if sources != "core" else None,
                    kube=access if sources != "server" else None,
                    selection=Selection(names=(application,)),
                )
            )
            for application in all_of(scene)
        }
    assert any(all_of(result) == all_of(scene) for result in read.values())


def test_local_files_are_those_of_the_named_application(tmp_path: Path) -> None:
    scene = of_lab("shared-resource")
    named = all_of(scene)[0]
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "all.yaml").write_text("---\n".join(yaml.dump(item.body) for item in scene.desired[named]))
    with serving(Cluster(scene)) as server:
        config = str(kubeconfig(tmp_path, server.url))
        access = KubeAccess(kubeconfig=config, limits=QUICK, environment={}, namespace="argocd")
        selection = Selection(names=(named,), local=str(folder))
        result = snapshot(FactSource(kube=access, selection=selection))
    assert list(result.desired) == [named]
    assert not result.gaps
