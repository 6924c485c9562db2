"""A bundle and a Git checkout with a canary in every place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from tests.cli.secrets import places
from tests.cli.secrets.minting import Mint
from tests.plan.shop import APP, Shop
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api import yaml

REVISION = "a3f1c29d0b7e4a8c9f6d5e4c3b2a190817263544"


def write_bundle(folder: Path, mint: Mint) -> None:
    """Two Applications: one with everything in its objects, one with everything in its messages."""
    # The Secret comes first: its values are named there, and repeated in messages.
    objects = {"live": _objects(mint, "live"), "desired/shop": _objects(mint, "desired")}
    for directory, bodies in objects.items():
        for number, body in enumerate(bodies):
            _write(folder / directory / f"{number}.json", body)
    _write(folder / "applications/shop.json", _shop(mint, objects["live"]))
    _write(folder / "applications/broken.json", _broken(mint))
    for name, data in (("argocd-cm", places.ARGOCD_CM), ("argocd-notifications-cm", places.NOTIFICATIONS)):
        body = _object("v1", "ConfigMap", name, "argocd")
        body["data"] = {key: mint.filled(value, name) for key, value in data.items()}
        _write(folder / f"settings/{name}.json", body)
    for number, kind in enumerate(("repository", "repo-creds", "cluster")):
        _write(folder / f"settings/{kind}.json", _credential(mint, kind, number))
    for number, text in enumerate(_texts(mint, "event")):
        event = _object("v1", "Event", f"web.{number}", "shop")
        event |= {"reason": "Failed", "type": "Warning", "message": text, "count": 1}
        event["involvedObject"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        _write(folder / f"events/{number}.json", event)
    log = folder / "logs/shop/web-1/web.log"
    log.parent.mkdir(parents=True)
    log.write_text("\n".join(_texts(mint, "log")) + "\n")
    _write(folder / "facts/other.json", {"items": [{"message": text} for text in _texts(mint, "fact")]})


def checkout(folder: Path, mint: Mint) -> Shop:
    """A pull request that changes every value."""

    def files(location: str) -> dict[str, str]:
        bodies = [
            body for body in _objects(mint, location) if "." not in str(body["apiVersion"]).split("/")[0]
        ]
        return {f"{body['kind']}.json".lower(): json.dumps(body) for body in bodies}

    shop = Shop(folder, base=files("base"))
    for name, text in files("head").items():
        shop.put(name, text)
    others = [obj for obj in _objects(mint, "file") if "." in str(obj["apiVersion"]).split("/")[0]]
    (folder / "other").mkdir()
    (folder / "other/objects.yaml").write_text("---\n".join(map(yaml.dump, others)))
    application = fields(yaml.load(APP))
    spec = fields(application["spec"])
    spec["source"] = {**_source(mint, "application in Git"), **fields(spec["source"])}
    (folder / "other/app.yaml").write_text(yaml.dump({**application, "metadata": {"name": "other"}}))
    return shop


def _objects(mint: Mint, location: str) -> list[Object]:
    bodies = [fields(yaml.load(mint.filled(text, location))) for text in places.OBJECTS]
    config = _object("v1", "ConfigMap", "config", "shop")
    config["data"] = {
        key: mint.filled(value, f"{location} ConfigMap {key}") for key, value in places.CONFIG_MAP.items()
    }
    config["data"]["values.yaml"] = mint.filled(places.VALUES, f"{location} ConfigMap")
    deployment = _object("apps/v1", "Deployment", "web", "shop")
    pod = yaml.load(mint.filled(places.POD, f"{location} Pod"))
    labels: Object = {"app": "web"}
    deployment["spec"] = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    last = {**deployment, "spec": {"template": {"spec": yaml.load(mint.filled(places.POD, "last applied"))}}}
    annotations = fields(fields(deployment["metadata"])["annotations"])
    annotations["kubectl.kubernetes.io/last-applied-configuration"] = json.dumps(last)
    return [*bodies, config, deployment]


def _object(version: str, kind: str, name: str, namespace: str) -> Object:
    group = version.partition("/")[0] if "/" in version else ""
    tracking = f"shop:{group}/{kind}:{namespace}/{name}"
    meta: Object = {
        "name": name,
        "namespace": namespace,
        "annotations": {"argocd.argoproj.io/tracking-id": tracking},
    }
    return {"apiVersion": version, "kind": kind, "metadata": meta}


def _source(mint: Mint, location: str) -> Object:
    source = fields(yaml.load(mint.filled(places.SOURCE, location)))
    helm = fields(source["helm"])
    helm["values"] = mint.filled(places.VALUES, f"{location} helm.values")
    helm["valuesObject"] = yaml.load(mint.filled(places.VALUES, f"{location} helm.valuesObject"))
    return source


def _shop(mint: Mint, live: list[Object]) -> Object:
    app = _object("argoproj.io/v1alpha1", "Application", "shop", "argocd")
    rows: list[Json] = []
    for body, text in zip(live, _texts(mint, "health"), strict=False):
        group, _, version = str(body["apiVersion"]).rpartition("/")
        meta = fields(body["metadata"])
        rows.append(
            {
                "group": group,
                "version": version,
                "kind": body["kind"],
                "name": meta["name"],
                "namespace": meta.get("namespace", ""),
                "status": "OutOfSync",
                "health": {"status": "Degraded", "message": text},
            }
        )
    results: list[Json] = [
        {**cast("Object", row), "status": "SyncFailed", "syncPhase": "Sync", "message": text}
        for row, text in zip(rows * 40, _texts(mint, "result"), strict=False)
    ]
    app["spec"] = {
        "project": "default",
        "source": _source(mint, "spec.source"),
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
    }
    app["operation"] = {"sync": {"source": _source(mint, "operation")}}
    app["status"] = {
        "sync": {
            "status": "OutOfSync",
            "revision": REVISION,
            "comparedTo": {"source": _source(mint, "compared")},
        },
        "health": {"status": "Degraded"},
        "resources": rows,
        "history": [{"id": 1, "revision": REVISION, "source": _source(mint, "history")}],
        "operationState": {
            "phase": "Failed",
            "message": next(iter(_texts(mint, "operation"))),
            "startedAt": "2026-03-02T09:00:00Z",
            "finishedAt": "2026-03-02T09:01:00Z",
            "operation": {"sync": {"revision": REVISION, "source": _source(mint, "operationState")}},
            "syncResult": {"revision": REVISION, "resources": results},
        },
    }
    return app


def _broken(mint: Mint) -> Object:
    app = _object("argoproj.io/v1alpha1", "Application", "broken", "argocd")
    app["spec"] = {
        "project": "default",
        "source": {"repoURL": "https://git.example.com/x.git", "path": "x"},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
    }
    conditions: list[Json] = [
        {"type": "ComparisonError", "message": text, "lastTransitionTime": "2026-03-02T09:00:00Z"}
        for text in _texts(mint, "condition")
    ]
    app["status"] = {
        "conditions": conditions,
        "sync": {"status": "Unknown"},
        "health": {"status": "Healthy"},
    }
    return app


def _credential(mint: Mint, kind: str, number: int) -> Object:
    body = _object("v1", "Secret", f"credential-{number}", "argocd")
    fields(body["metadata"])["labels"] = {"argocd.argoproj.io/secret-type": kind}
    body["stringData"] = {
        key: mint.filled(value, kind)
        for key, value in {
            "url": "https://bob:@@@git.example.com",
            "username": "@@",
            "password": "@@",
            "sshPrivateKey": "-----BEGIN RSA PRIVATE KEY-----\n@mix40@\n-----END RSA PRIVATE KEY-----",
            "githubAppPrivateKey": "@@",
            "bearerToken": "@@",
            "config": '{"bearerToken":"@@","tlsClientConfig":{"keyData":"@@"}}',
        }.items()
    }
    return body


def _texts(mint: Mint, location: str) -> list[str]:
    return [mint.filled(text, location) for text in (*places.TEXTS, *places.AGAIN, *places.BLOCKS)]


def _write(path: Path, body: Object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body))
