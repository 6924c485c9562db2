"""Secret values wherever a secret can be, each with a mark that no output may show."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from suites.cluster.sources.fleet import SYNCED_AT
from whysync.json_tree import Json, Object

MARK = "Zq9marked"
NAMESPACE = "vault"


class Marks:
    """A new value each time, all of them known."""

    def __init__(self) -> None:
        self.values: list[str] = []

    def new(self, form: str = "{}") -> str:
        value = f"{MARK}X{len(self.values):03d}kT7"
        self.values.append(value)
        return form.format(value)

    def base64(self, form: str = "{}") -> str:
        return base64.b64encode(self.new(form).encode()).decode()

    def forms(self) -> Iterator[str]:
        """Also as base64, at each of its three alignments."""
        for value in self.values:
            yield value
            for lead in ("", "x", "xx"):
                coded = base64.b64encode((lead + value).encode()).decode()
                yield coded[4:-4] if lead else coded[:-4]


def marked_world(marks: Marks) -> list[Object]:
    new = marks.new
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        _secret(
            "plain", {"password": marks.base64(), "dsn": marks.base64("postgres://shop:{}@db:5432/shop")}
        ),
        _secret("docker", {".dockerconfigjson": _docker(marks)}, type="kubernetes.io/dockerconfigjson"),
        _applied_secret(marks),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "argocd-secret", "namespace": "argocd"},
            "data": {"admin.password": marks.base64(), "server.secretkey": marks.base64()},
        },
        _credential("repository", {"url": "https://git.example.com/vault.git", "password": new()}),
        _credential("repo-creds", {"url": "https://git.example.com", "sshPrivateKey": _key(marks)}),
        _credential(
            "cluster",
            {
                "name": "stage",
                "server": "https://10.9.9.9:6443",
                "config": json.dumps({"bearerToken": new(), "tlsClientConfig": {"keyData": marks.base64()}}),
            },
        ),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "settings", "namespace": NAMESPACE},
            "data": {
                "app.yaml": f"database:\n  password: {new()}\n  host: db\n",
                "app.properties": f"db.user=shop\ndb.password={new()}\n",
                "API_TOKEN": new(),
            },
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "argocd-cm",
                "namespace": "argocd",
                "labels": {"app.kubernetes.io/part-of": "argocd"},
            },
            "data": {
                "resource.sensitive.mask.annotations": "example.com/passphrase",
                "oidc.config": f"issuer: https://sso.example.com\nclientSecret: {new()}\n",
            },
        },
        _deployment(marks),
        _pod(marks),
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "vault.17", "namespace": NAMESPACE},
            "involvedObject": {"kind": "Pod", "namespace": NAMESPACE, "name": "vault-0"},
            "type": "Warning",
            "reason": "Failed",
            "message": f"cannot reach https://bot:{new()}@registry.example.com: denied",
            "lastTimestamp": SYNCED_AT,
        },
        _application(marks),
    ]


def _application(marks: Marks) -> Object:
    new = marks.new
    source: Object = {
        "repoURL": f"https://deploy:{new()}@git.example.com/vault.git",
        "path": "vault",
        "targetRevision": "main",
        "helm": {
            "parameters": [{"name": "db.password", "value": new()}],
            "values": f"redis:\n  auth:\n    password: {new()}\n",
            "valuesObject": {"smtp": {"password": new()}},
        },
    }
    rows: list[Json] = [
        {"version": "v1", "kind": kind, "namespace": NAMESPACE, "name": name, "status": "OutOfSync"}
        for kind, name in (("Secret", "plain"), ("Secret", "applied"), ("ConfigMap", "settings"))
    ]
    # An app of apps: so the namespace of Argo CD's own secrets is read too.
    rows.append(
        {
            "group": "argoproj.io",
            "version": "v1alpha1",
            "kind": "Application",
            "namespace": "argocd",
            "name": "vault-child",
            "status": "OutOfSync",
        }
    )
    rows.append(
        {
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "namespace": NAMESPACE,
            "name": "vault",
            "status": "OutOfSync",
            "health": {"status": "Degraded", "message": f"invalid credentials: token={new()}"},
        }
    )
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": "vault",
            "namespace": "argocd",
            "annotations": {"example.com/passphrase": new()},
        },
        "spec": {
            "project": "default",
            "source": source,
            "destination": {"server": "https://kubernetes.default.svc", "namespace": NAMESPACE},
        },
        "status": {
            "sync": {"status": "OutOfSync", "revision": "c" * 40, "comparedTo": {"source": source}},
            "health": {"status": "Degraded"},
            "resources": rows,
            "reconciledAt": SYNCED_AT,
            "conditions": [
                {
                    "type": "ComparisonError",
                    "message": f"Failed to load target state: https://x:{new()}@git.example.com/: not found",
                    "lastTransitionTime": SYNCED_AT,
                }
            ],
            "operationState": {
                "phase": "Failed",
                "message": f"one or more objects failed to apply: Authorization: Bearer {new()}",
                "startedAt": SYNCED_AT,
                "finishedAt": SYNCED_AT,
                "operation": {"sync": {"revision": "c" * 40}},
                "syncResult": {
                    "revision": "c" * 40,
                    "source": source,
                    "resources": [
                        {
                            "version": "v1",
                            "kind": "Secret",
                            "namespace": NAMESPACE,
                            "name": "plain",
                            "status": "SyncFailed",
                            "message": f'Secret "plain" is invalid: data.password: Invalid value: "{new()}"',
                            "syncPhase": "Sync",
                        }
                    ],
                },
            },
        },
    }


def _deployment(marks: Marks) -> Object:
    new = marks.new
    container: Json = {
        "name": "main",
        "image": "vault:1",
        "args": ["--listen=:80", f"--admin-password={new()}", "--token", new()],
        "env": [{"name": "DB_PASSWORD", "value": new()}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "vault",
            "namespace": NAMESPACE,
            "annotations": {"example.com/passphrase": new()},
        },
        "spec": {
            "selector": {"matchLabels": {"app": "vault"}},
            "template": {"metadata": {"labels": {"app": "vault"}}, "spec": {"containers": [container]}},
        },
    }


def _pod(marks: Marks) -> Object:
    waiting: Json = {
        "reason": "CreateContainerError",
        "message": f"exec: --password={marks.new()}: not found",
    }
    status: Json = {
        "name": "main",
        "image": "vault:1",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": waiting},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "vault-0", "namespace": NAMESPACE, "labels": {"app": "vault"}},
        "spec": {
            "nodeName": "node-1",
            "containers": [
                {"name": "main", "image": "vault:1", "env": [{"name": "TOKEN", "value": marks.new()}]}
            ],
        },
        "status": {"phase": "Pending", "containerStatuses": [status]},
    }


def _secret(name: str, data: Object, *, type: str = "Opaque") -> Object:
    meta: Object = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": type, "data": data}


def _applied_secret(marks: Marks) -> Object:
    """With its values a second time, in the annotation of a client-side apply."""
    body = _secret("applied", {"password": marks.base64()})
    meta = body["metadata"]
    assert isinstance(meta, dict)
    meta["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(body)}
    return body


def _credential(kind: str, plain: dict[str, str]) -> Object:
    data: Object = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
    labels: Object = {"argocd.argoproj.io/secret-type": kind}
    meta: Object = {"name": f"marked-{kind}", "namespace": "argocd", "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}


def _docker(marks: Marks) -> str:
    auth = marks.base64("robot:{}")
    config = {"auths": {"registry.example.com": {"password": marks.new(), "auth": auth}}}
    return base64.b64encode(json.dumps(config).encode()).decode()


def _key(marks: Marks) -> str:
    begin, end = (f"-----{word} OPENSSH PRIVATE KEY-----" for word in ("BEGIN", "END"))
    return f"{begin}\n{marks.new()}\n{end}\n"
