"""Plan a commit from a Git checkout, and sync it onto a real API server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from suites.cluster.planning.judging import planned_outcome
from suites.cluster.planning.syncing import BaseFailed, Outcome, synced
from suites.cluster.planning.twin import end
from tests.argocd.repo_server.git.conftest import GitCheckout
from whysync.facts.kubernetes_api import KubeAccess, read_kubernetes
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.apiserver.protocol import Cluster, Request
from whysync.plan.checkout import open_checkout
from whysync.plan.plan import AssumptionKind, PlannedCluster, Run
from whysync.plan.planner import plan

URL = "https://git.example.org/team/deploy.git"
NAME = "argocd/app"
_CLASS: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "hostpath.csi.k8s.io",
    "allowVolumeExpansion": True,
}
"""Plans take a default class for granted, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What Git has before and after; without a base the cluster is empty."""

    namespace: str
    head: Sequence[Object]
    base: Sequence[Object] | None = None
    around: Sequence[Object] = ()
    """In the cluster, and of no concern to Git."""
    options: Sequence[str] = ()
    labels: tuple[tuple[str, str], ...] = ()
    """Of the namespace."""

    @property
    def application(self) -> Object:
        policy: Object = {"automated": {"prune": True}, "retry": {"limit": 1}}
        if self.options:
            result: list[Json] = [*self.options]
            policy["syncOptions"] = result
        return {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {"name": "app", "namespace": "argocd"},
            "spec": {
                "project": "default",
                "source": {"repoURL": URL, "path": "app", "targetRevision": "main"},
                "destination": {"server": "https://kubernetes.default.svc", "namespace": self.namespace},
                "syncPolicy": policy,
            },
        }


class CommitRunner:
    """A checkout that is used again for every commit."""

    def __init__(self, folder: Path, real: Cluster, kubeconfig: str = "") -> None:
        self._git = GitCheckout(folder)
        self._git.git("remote", "add", "origin", URL)
        self._real = real
        self._kubeconfig = kubeconfig
        self.granted: list[Object] = []
        """What the last plan has taken for granted."""

    def planned(self, commit: Commit, live: Snapshot | None = None) -> Outcome:
        """What a plan says: of the cluster as it is, of one with the base, or of an empty one."""
        self._check_out(commit)
        with open_checkout(str(self._git.folder), base="HEAD") as checkout:
            (result,) = plan(checkout, live=live, on_base=commit.base is not None, keep=True).apps
        expected = (
            PlannedCluster.LIVE
            if live is not None
            else PlannedCluster.BASE
            if commit.base is not None
            else PlannedCluster.EMPTY
        )
        runs: list[Run] = [run for run in result.runs if run.cluster is expected]
        assert runs, (result.notes, [run.message for run in result.runs])
        self.granted = [
            _object("Namespace", assumption.name)
            for assumption in runs[0].assumptions
            if assumption.kind is AssumptionKind.EXISTS and assumption.of == "Namespace"
        ]
        return planned_outcome(runs[0], NAME)

    def revision(self, commit: Commit) -> tuple[int, Object]:
        """What the command says: its exit code and its JSON."""
        self._check_out(commit)
        command = [
            str(Path(sys.executable).with_name("whysync")),
            "plan",
            "--base",
            "HEAD",
            "-o",
            "json",
            "--no-proof",
        ]
        done = subprocess.run(command, cwd=self._git.folder, capture_output=True, check=False)
        assert done.stdout, done.stderr.decode()
        return done.returncode, fields(cast(Json, json.loads(done.stdout)))

    def _check_out(self, commit: Commit) -> None:
        app = yaml.dump(commit.application)
        base = {"argocd/app.yaml": app, "app/all.yaml": _file(commit.base or ()), "app/read.me": "x"}
        self._git.commit(base)
        (self._git.folder / "app/all.yaml").write_text(_file(commit.head))

    def done(self, commit: Commit, *, facts: list[Snapshot] | None = None) -> Outcome:
        """What then happens; `facts` gets what is known of the cluster right before."""
        existing = [self._put(item) for item in (_namespace(commit), _CLASS, *self.granted)]

        def between(application: Object) -> list[Object]:
            come = [self._put(item) for item in commit.around]
            if come:
                self._wait(commit)
            if facts is not None:
                facts.append(self._facts(application))
            return come

        return synced(
            self._real,
            commit.application,
            commit.head,
            there=existing,
            before=commit.base,
            between=between,
        )

    def _facts(self, application: Object) -> Snapshot:
        path = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
        end(self._real, f"{path}/app")
        answer = self._real.send(Request(verb="create", path=path, body=application))
        assert answer.ok, answer
        access = KubeAccess(kubeconfig=self._kubeconfig, namespace="argocd")
        return read_kubernetes(access, Selection(names=(NAME,), logs=False))

    def _wait(self, commit: Commit) -> None:
        """The server needs a moment to see policies and webhooks."""
        if not any(
            text(item.get("apiVersion")).startswith("admissionregistration") for item in commit.around
        ):
            return
        probe: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}}
        path = f"/api/v1/namespaces/{commit.namespace}/configmaps"
        until = time.monotonic() + 10
        while self._real.send(Request(verb="create", path=path, body=probe, dry_run=True)).ok:
            assert time.monotonic() < until, "the server never saw the policy"
            time.sleep(0.05)

    def _put(self, obj: Object) -> Object:
        kinds = {(kind.api_version, kind.kind): kind for kind in self._real.kinds()}
        kind = kinds[text(obj.get("apiVersion")), text(obj.get("kind"))]
        namespace = text(dig(obj, "metadata", "namespace"))
        answer = self._real.send(Request(verb="create", path=kind.collection(namespace), body=obj))
        assert answer.ok or answer.code == 409, answer
        path = kind.path(namespace, text(dig(obj, "metadata", "name")))
        if obj.get("status"):
            change: Object = {"status": obj["status"]}
            self._real.send(Request(verb="merge-patch", path=f"{path}/status", body=change))
        return self._real.send(Request(verb="get", path=path)).body or {}


def _namespace(commit: Commit) -> Object:
    body = _object("Namespace", commit.namespace)
    body["metadata"] = {"name": commit.namespace, "labels": {**dict(commit.labels)}}
    return body


def _object(kind: str, name: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


def _file(objects: Sequence[Object]) -> str:
    return "---\n".join(map(yaml.dump, objects)) or "# nothing\n"


__all__ = ["BaseFailed", "Commit", "CommitRunner"]
