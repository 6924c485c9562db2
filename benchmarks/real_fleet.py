"""Reading a fleet from a real Argo CD, next to `argocd app list` and `kubectl get` of the same objects.

`python -m benchmarks.real_fleet [APPS]`; it needs what `make test-argocd` needs. Apps of 30 resources, ten in
each namespace, one in ten changed by hand: whysync therefore reads every namespace.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.real_argocd.programs import find_or_build
from tools.real_argocd.running import RealArgoCD, Timing, real_argocd
from tools.real_cluster.client import ApiServerClient
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.merge.last_applied import LAST_APPLIED

REPO: Final = "https://git.example.com/fleet.git"
TOGETHER: Final = 10
"""Apps in one namespace, of which one is changed by hand."""
KINDS: Final = "configmaps,services,serviceaccounts,deployments.apps,replicasets.apps,pods,events"
_THREADS: Final = 8
_ROUNDS: Final = 2
_SECONDS: Final = 1800.0
_PATHS: Final = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
}
"""The lists of one kind, by namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One command: its time, its peak memory, and what it wrote."""

    seconds: float
    mebibytes: float
    written: int
    exit: int


def manifests(app: str) -> Iterator[Object]:
    """30 resources: a Deployment with one Pod, and what is usually next to it."""
    labels: Object = {"app": app}

    def body(version: str, kind: str, name: str, **rest: Object) -> Object:
        return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels}, **rest}

    container: Object = {"name": "web", "image": "registry.example.com/web:1.0"}
    template: Object = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    workload: Object = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    yield body("apps/v1", "Deployment", app, spec=workload)
    for number in range(3):
        port: Object = {"selector": labels, "ports": [{"name": "http", "port": 8080 + number}]}
        yield body("v1", "Service", f"{app}-{number}", spec=port)
    yield body("v1", "ServiceAccount", app)
    for number in range(25):
        data: Object = {f"file-{at}.properties": f"key-{at}=value of {app}\n" * 10 for at in range(3)}
        yield body("v1", "ConfigMap", f"{app}-{number}", data=data)


def application(app: str, namespace: str) -> Object:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": app, "namespace": "argocd"},
        "spec": {
            "project": "default",
            "source": {"repoURL": REPO, "path": app, "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": namespace},
        },
    }


def applied(manifest: Object, app: str, namespace: str) -> Object:
    """The object as Argo CD would have applied it."""
    meta = fields(manifest["metadata"])
    group = text(manifest["apiVersion"]).rpartition("/")[0]
    tracking = f"{app}:{group}/{text(manifest['kind'])}:{namespace}/{text(meta['name'])}"
    annotations: Object = {
        "argocd.argoproj.io/tracking-id": tracking,
        LAST_APPLIED: json.dumps(manifest) + "\n",
    }
    return {**manifest, "metadata": {**meta, "namespace": namespace, "annotations": annotations}}


def create(argocd: RealArgoCD, apps: int) -> None:
    """The objects of all apps first, so that no app has to be synced; then the apps."""
    names = [f"app-{number:04}" for number in range(apps)]
    spaces = {name: f"team-{number // TOGETHER:03}" for number, name in enumerate(names)}
    argocd.git.create(REPO, "main")
    files = {
        f"{name}/all.yaml": "\n---\n".join(json.dumps(manifest) for manifest in manifests(name))
        for name in names
    }
    argocd.git.commit(REPO, "main", files=files, removes=(), message="start")
    requests = [
        Request(verb="create", path="/api/v1/namespaces", body=_namespace(space))
        for space in dict.fromkeys(spaces.values())
    ]
    _send(argocd, requests)
    _send(argocd, [request for name in names for request in _objects(name, spaces[name])])
    path = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
    _send(argocd, [_create(path, application(name, spaces[name])) for name in names])


def _objects(app: str, namespace: str) -> Iterator[Request]:
    changed = int(app.rpartition("-")[2]) % TOGETHER == 0
    for manifest in manifests(app):
        body = applied(manifest, app, namespace)
        if changed and fields(body["metadata"])["name"] == f"{app}-7":
            body["data"] = {"file-0.properties": "changed=by hand\n"}
        yield _create(_PATHS[text(body["kind"])].format(namespace), body)


def _create(path: str, body: Object) -> Request:
    return Request(verb="create", path=path, body=body, manager="argocd-controller")


def _namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _send(argocd: RealArgoCD, requests: Sequence[Request]) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(_THREADS) as pool:
        clients = [argocd.kubernetes.another_client() for _ in range(_THREADS)]
        for client in clients:
            stack.callback(client.close)

        def work(at: int) -> None:
            for request in requests[at::_THREADS]:
                answer = clients[at].send(request)
                assert answer.ok, (request.path, answer.code, answer.body)

        list(pool.map(work, range(_THREADS)))


def wait_until_compared(client: ApiServerClient, apps: int) -> None:
    """All apps are compared and healthy, and those that were changed are OutOfSync."""
    until = time.monotonic() + _SECONDS
    path = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
    expected = {"Synced": apps - -(-apps // TOGETHER), "OutOfSync": -(-apps // TOGETHER)}
    while True:
        listed = items((client.send(Request(verb="list", path=path)).body or {}).get("items"))
        states = [fields(dig(app, "status")) for app in listed]
        counts = {
            status: sum(
                dig(state, "sync", "status") == status and dig(state, "health", "status") == "Healthy"
                for state in states
            )
            for status in expected
        }
        if counts == expected:
            return
        assert time.monotonic() < until, counts
        print(f"compared: {counts}", file=sys.stderr, flush=True)
        time.sleep(10)


def measured(argocd: RealArgoCD, command: Sequence[str]) -> Run:
    output = argocd.home / "output"
    environment = {**os.environ, **argocd.environment(), "PYTHONPATH": str(Path(__file__).parents[1])}
    start = time.monotonic()
    with output.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=argocd.home)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Run(
        seconds=time.monotonic() - start,
        mebibytes=usage.ru_maxrss / 1024,
        written=output.stat().st_size,
        exit=process.returncode,
    )


def fastest(argocd: RealArgoCD, command: Sequence[str]) -> Run:
    return min((measured(argocd, command) for _ in range(_ROUNDS)), key=lambda run: run.seconds)


def main() -> None:
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with real_argocd(find_or_build(print), Timing(resync=24 * 3600)) as argocd:
        create(argocd, apps)
        wait_until_compared(argocd.kubernetes.client, apps)
        server = ["--server", argocd.address, "--plaintext", "--auth-token", argocd.token]
        core = ["--core", "--kubeconfig", str(argocd.kubeconfig)]
        argocd_command, kubectl = (str(argocd.home / "bin" / name) for name in ("argocd", "kubectl"))
        whysync = [sys.executable, "-m", "whysync"]
        commands = {
            "argocd app list -o json": [argocd_command, "app", "list", "-o", "json"],
            f"kubectl get {KINDS} -A -o json": [kubectl, "get", KINDS, "-A", "-o", "json"],
            "whysync list --server": [*whysync, "list", *server],
            "whysync list --core": [*whysync, "list", *core],
            "whysync diagnose --server": [*whysync, "diagnose", "--no-proof", *server],
            "whysync diagnose --core": [*whysync, "diagnose", "--no-proof", *core],
            "whysync diagnose --server --core": [*whysync, "diagnose", "--no-proof", *server, *core],
        }
        print(f"{apps:,} apps of 30 resources, one in {TOGETHER} changed by hand")
        for name, command in commands.items():
            run = fastest(argocd, command)
            print(
                f"{name:<90} {run.seconds:6.1f} s {run.mebibytes:7.0f} MiB {run.written:>11,} bytes"
                f"  exit {run.exit}",
                flush=True,
            )


if __name__ == "__main__":
    main()
