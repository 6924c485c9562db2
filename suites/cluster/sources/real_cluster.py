"""A real API server with Argo CD's CRDs: create objects, accounts and kubeconfigs for tests."""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

from suites.cluster.sources.definitions import definitions
from tools.real_cluster.client import ApiServerClient
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.apiserver.protocol import Cluster, Request

_PLURALS = {
    "Application": "applications",
    "AppProject": "appprojects",
    "ApplicationSet": "applicationsets",
    "Ingress": "ingresses",
    "NetworkPolicy": "networkpolicies",
    "IngressClass": "ingressclasses",
    "StorageClass": "storageclasses",
    "Endpoints": "endpoints",
}
_CLUSTER_SCOPED = frozenset(
    (
        "Namespace",
        "Node",
        "PersistentVolume",
        "StorageClass",
        "PriorityClass",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    )
)


class RealCluster:
    """Set up objects and accounts on the server before whysync reads it."""

    def __init__(self, real: Cluster) -> None:
        assert isinstance(real, ApiServerClient)
        self._client = real
        inside = vars(real)  # a kubeconfig needs the private credentials of the client
        self._port, self.token = cast(int, inside["_port"]), cast(str, inside["_token"])
        trust = cast(ssl.SSLContext, inside["_trust"])
        self._ca = "".join(map(ssl.DER_cert_to_PEM_cert, trust.get_ca_certs(binary_form=True)))

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    # Objects

    def install(self) -> None:
        """Argo CD's kinds and its namespace."""
        for body in definitions():
            self.put(body)
        until = time.monotonic() + 30
        for body in definitions():
            served = f"/apis/{dig(body, 'spec', 'group')}/{dig(body, 'spec', 'versions', 0, 'name')}"
            path = f"{served}/{dig(body, 'spec', 'names', 'plural')}"
            while not self._client.send(Request(verb="list", path=path)).ok and time.monotonic() < until:
                time.sleep(0.05)
        self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}})

    def put(
        self, body: Object, *, manager: str = "kubectl-create", client: ApiServerClient | None = None
    ) -> Object:
        """Create an object, with its status if it has one; an existing object is kept."""
        client = client or self._client
        answer = client.send(Request(verb="create", path=collection(body), body=body, manager=manager))
        if answer.code == 409:
            return {}
        assert answer.ok, (answer.code, answer.body, answer.text)
        status = body.get("status")
        if status and not _has_no_status(body):
            path = f"{collection(body)}/{name(body)}/status"
            answer = client.send(
                Request(verb="merge-patch", path=path, body={"status": status}, manager="status")
            )
            assert answer.ok, (answer.code, answer.body)
        return answer.body or {}

    def put_all(self, bodies: Iterable[Object], *, manager: str = "kubectl-create", workers: int = 8) -> None:
        """Create many objects in parallel, with one connection per worker."""
        every = list(bodies)
        inside = vars(self._client)
        shares = [every[start::workers] for start in range(workers)]

        def work(share: list[Object]) -> None:
            client = ApiServerClient(port=self._port, token=self.token, trust=inside["_trust"])
            try:
                for body in share:
                    self.put(body, manager=manager, client=client)
            finally:
                client.close()

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, shares))
        self._client.close()  # the server has closed this idle connection

    def apply(self, body: Object, *, manager: str, force: bool = False) -> Object:
        """Server-side apply with a field manager."""
        path = f"{collection(body)}/{name(body)}"
        answer = self._client.send(Request(verb="ssa", path=path, body=body, manager=manager, force=force))
        assert answer.ok, (answer.code, answer.body)
        return answer.body or {}

    def patch(self, body: Object, change: Object, *, manager: str, below: str = "") -> None:
        path = f"{collection(body)}/{name(body)}{below}"
        answer = self._client.send(Request(verb="merge-patch", path=path, body=change, manager=manager))
        assert answer.ok, (answer.code, answer.body)

    def delete(self, body: Object) -> None:
        answer = self._client.send(Request(verb="delete", path=f"{collection(body)}/{name(body)}"))
        assert answer.ok, (answer.code, answer.body)

    def requests_served(self) -> int:
        """The number of requests that the server has counted, without watches."""
        answer = self._client.send(Request(verb="get", path="/metrics"))
        total = 0.0
        for line in (answer.text or "").splitlines():
            if line.startswith("apiserver_request_total{") and 'verb="WATCH"' not in line:
                total += float(line.rpartition(" ")[2])
        return int(total)

    # Credentials

    def kubeconfig(self, home: Path, *, token: str = "", namespace: str = "") -> Path:
        path = home / "kubeconfig"
        context = {"cluster": "real", "user": "me", **({"namespace": namespace} if namespace else {})}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "real",
            "clusters": [{"name": "real", "cluster": {"server": self.url, **self.trusted()}}],
            "users": [{"name": "me", "user": {"token": token or self.token}}],
            "contexts": [{"name": "real", "context": context}],
        }
        path.write_text(json.dumps(config))
        return path

    def trusted(self) -> dict[str, str]:
        return {"certificate-authority-data": base64.b64encode(self._ca.encode()).decode()}

    @property
    def ca(self) -> str:
        return self._ca

    def account(self, account: str, rules: list[Json], *, namespaces: tuple[str, ...] = ()) -> str:
        """Create a service account with these rules, for all or some namespaces, and return its token."""
        self.put(_object("v1", "ServiceAccount", account, "argocd"))
        group = "rbac.authorization.k8s.io"
        subject: Object = {"kind": "ServiceAccount", "name": account, "namespace": "argocd"}
        role = _object(f"{group}/v1", "ClusterRole", account)
        self.put({**role, "rules": rules})
        reference: Object = {"apiGroup": group, "kind": "ClusterRole", "name": account}
        bindings = [("RoleBinding", namespace) for namespace in namespaces] or [("ClusterRoleBinding", "")]
        for kind, namespace in bindings:
            binding = _object(f"{group}/v1", kind, account, namespace)
            self.put({**binding, "roleRef": reference, "subjects": [subject]})
        request: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"/api/v1/namespaces/argocd/serviceaccounts/{account}/token"
        answer = self._client.send(Request(verb="create", path=path, body=request))
        assert answer.ok, (answer.code, answer.body)
        return text(dig(answer.body or {}, "status", "token"))


def collection(body: Object) -> str:
    api_version, kind = text(body.get("apiVersion")), text(body.get("kind"))
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    plural = _PLURALS.get(kind) or f"{kind.lower()}s"
    namespace = text(dig(body, "metadata", "namespace"))
    inside = f"/namespaces/{namespace}" if namespace and kind not in _CLUSTER_SCOPED else ""
    return f"{root}{inside}/{plural}"


def name(body: Object) -> str:
    return text(dig(body, "metadata", "name"))


def _has_no_status(body: Object) -> bool:
    """Argo CD's CRDs have no status subresource: the status is written with the object."""
    return text(body.get("apiVersion")).startswith("argoproj.io/")


def _object(api_version: str, kind: str, object_name: str, namespace: str = "") -> Object:
    meta: Object = {"name": object_name}
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}


def field_of(body: Object, *path: str) -> Object:
    return fields(dig(body, *path))
