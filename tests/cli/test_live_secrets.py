"""Secrets in the answers of a server, everywhere that they can be: none is ever seen again."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.running import Whysync, process
from tests.facts.argocd_api.scenes import desired, live, log, obj, shop
from tests.facts.argocd_api.server import TOKEN, ArgoCD, Fault, at
from whysync.json_tree import Json, Object, fields

# Wherever a secret can be: each of these is one that must not be seen again.
MARKED = [f"S3CRET-marked-value-{number:02}" for number in range(17)]


@pytest.fixture
def leaking() -> Iterator[ArgoCD]:
    """An Argo CD that does not mask: every response contains a secret."""
    m = iter(MARKED)
    env: Json = [
        {"name": "DB_PASSWORD", "value": next(m)},
        {"name": "URL", "value": f"postgres://u:{next(m)}@db/x"},
    ]
    last: Json = {
        "kubectl.kubernetes.io/last-applied-configuration": json.dumps(
            obj("Secret", "db", stringData={"p": next(m)})
        )
    }
    web = obj(
        "Deployment",
        "web",
        version="apps/v1",
        spec={
            "template": {"spec": {"containers": [{"name": "web", "env": env, "args": ["--token", next(m)]}]}}
        },
    )
    secret = obj("Secret", "db", metadata={"annotations": last}, stringData={"password": next(m)})
    base = shop()
    (app,) = (application for application in base.applications if application.ref.name == "shop")
    status = fields(app.body["status"])
    status["conditions"] = [
        {"type": "ComparisonError", "message": f"https://git:{next(m)}@git.example.com failed"}
    ]
    status["operationState"] = {
        "phase": "Failed",
        "message": f"authorization: Bearer {next(m)}1",
        "startedAt": "2026-03-02T09:00:00Z",
    }
    source = fields(fields(app.body["spec"])["source"])
    source["helm"] = {
        "parameters": [{"name": "db.password", "value": next(m)}],
        "values": f"adminPassword: {next(m)}\n",
    }
    event: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "shop"},
        "involvedObject": {"name": "web", "kind": "Deployment", "namespace": "shop"},
        "type": "Warning",
        "message": f"password={next(m)}",
    }
    snapshot = replace(
        base,
        live=(
            *live(web, secret),
            *(live_object for live_object in base.live if live_object.ref.kind == "Pod"),
        ),
        desired={"argocd/shop": desired(web, secret)},
        events=live(event),
        logs=(log("web-1", "web", f"panic: password={next(m)}", previous=True),),
    )
    with ArgoCD(snapshot) as argocd:
        answers = argocd.answers
        answers.hides = False
        answers.more_clusters = [
            {
                "server": "https://10.0.0.9",
                "name": "x",
                "config": {"bearerToken": next(m), "password": next(m)},
            }
        ]
        answers.more_repositories = [
            {"repo": f"https://u:{next(m)}@git.example.com/x", "password": next(m), "sshPrivateKey": next(m)}
        ]
        argocd.fault("/api/v1/projects", Fault.LEAKING)
        argocd.secret = next(m)
        yield argocd


def test_no_secret_is_shown_or_written(
    whysync: Whysync, leaking: ArgoCD, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in any output, not in a bundle, not in a temporary file, not in a message, not with -vv."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    verbs = (
        "diagnose -o json", "diagnose -o wide", "list -o wide", "get shop -o yaml",
        "get shop --show-operation", "diff -o json", "diff", "fix shop", "health --app shop",
        f"collect -o {tmp_path / 'out'}", f"collect -o {tmp_path / 'out.tar.gz'}",
    )  # fmt: skip
    ran = [whysync(*verb.split(), *at(leaking)) for verb in verbs]
    # As a process of its own: there the log of the HTTP client goes to standard error too.
    ran.append(process("diagnose", "-vv", *at(leaking)))
    assert not any("itself failed" in run.err for run in ran)
    assert ran[-1].err.count("\n") > 3
    printed = "".join(run.out + run.err for run in ran).encode()
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    unpacked = gzip.decompress((tmp_path / "out.tar.gz").read_bytes())
    everything = b"".join((printed, unpacked, *written))
    assert b"<masked " in everything
    served = b"".join(leaking.sent)
    assert [secret for secret in MARKED if secret.encode() not in served] == [], "each of them was served"
    leaked = [
        secret
        for secret in (*MARKED, TOKEN)
        if secret.encode() in everything or base64.b64encode(secret.encode()) in everything
    ]
    assert leaked == []
