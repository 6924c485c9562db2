"""`whysync diagnose appset/NAME`, from a cluster, from Argo CD's API and from a bundle."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.running import Whysync
from tests.facts.argocd_api.scenes import of
from tests.facts.argocd_api.server import ArgoCD, at
from tests.facts.kubernetes_api.fake_api import FakeApi, kubeconfig
from tests.facts.kubernetes_api.reading import serving
from tests.facts.kubernetes_api.world import application, thing
from whysync.json_tree import Json, Object
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.manifest import Manifest, Role

MISSING_KEY = (
    'failed to execute go template {{.region}}: template: :1:3: executing "" at <.region>: map has no'
    ' entry for key "region"'
)
STEPS: Json = [
    {"matchExpressions": [{"key": "env", "operator": "In", "values": ["dev"]}]},
    {"matchExpressions": [{"key": "env", "operator": "In", "values": ["prod"]}]},
]


def generated(name: str, env: str, *, owner: str = "web", **status: Any) -> Object:
    body = application(name, **status)
    meta = body["metadata"]
    assert isinstance(meta, dict)
    meta["labels"] = {"env": env}
    meta["ownerReferences"] = [{"kind": "ApplicationSet", "name": owner, "apiVersion": "x/v1", "uid": "u"}]
    return body


def application_set(name: str, *conditions: Json, **more: Any) -> Object:
    generators: Json = [{"list": {"elements": [{"name": "a"}]}}]
    spec: Object = {"generators": generators, **more.pop("spec", {})}
    status: Object = {"conditions": [*conditions], **more}
    return thing("argoproj.io/v1alpha1", "ApplicationSet", name, "argocd", spec=spec, status=status)


def failing() -> Object:
    error: Json = {"type": "ErrorOccurred", "status": "True", "reason": "Failed", "message": MISSING_KEY}
    return application_set("bad", error)


def rolling() -> Object:
    statuses: Json = [
        {"application": "dev", "status": "Progressing", "step": "1", "message": "syncing"},
        {"application": "eu", "status": "Waiting", "step": "2", "message": "waiting"},
    ]
    strategy: Json = {"type": "RollingSync", "rollingSync": {"steps": STEPS}}
    return application_set("web", spec={"strategy": strategy}, applicationStatus=statuses)


def world() -> list[Object]:
    return [
        rolling(),
        failing(),
        generated("dev", "dev", health="Progressing"),
        generated("eu", "prod", sync="OutOfSync"),
        generated("fine", "x", owner="calm"),
        application_set("calm", {"type": "ErrorOccurred", "status": "False", "reason": "UpToDate"}),
        application("alone", sync="OutOfSync"),
    ]


@pytest.fixture(params=["cluster", "server", "bundle"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[str, ...]]:
    with reading(request.param, tmp_path, world()) as flags:
        yield flags


@contextmanager
def reading(kind: str, home: Path, objects: list[Object]) -> Generator[tuple[str, ...]]:
    match kind:
        case "cluster":
            with serving(FakeApi(objects)) as server:
                yield "--kubeconfig", str(kubeconfig(home, server.url)), "--argocd-namespace", "argocd"
        case "server":
            apps = [obj for obj in objects if obj["kind"] == "Application"]
            sets = [obj for obj in objects if obj["kind"] == "ApplicationSet"]
            snapshot = of(
                *(Manifest(app, role=Role.APPLICATION) for app in apps),
                live=tuple(Manifest(one, role=Role.LIVE) for one in sets),
            )
            with ArgoCD(replace(snapshot, collected_at=datetime(2026, 3, 2, 3, 27, tzinfo=UTC))) as argocd:
                yield at(argocd)
        case _:
            path = home / "bundle.yaml"
            path.write_text("---\n".join(map(yaml.dump, objects)))
            yield "--bundle", str(path)


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_rollout_that_waits(whysync: Whysync, source: tuple[str, ...]) -> None:
    ran = whysync("diagnose", "appset/web", *source)
    text = words(ran.out)
    assert ran.code == 1, ran.err
    assert "ApplicationSet argocd/web 2 apps" in text
    assert "does not finish step 1 of its rollout: Application dev is Progressing there" in text
    assert "generators list of 1 elements" in text
    assert "step 1 env in dev: 0 of 1 done" in text
    assert "eu: OutOfSync · Healthy · Waiting; step 1 is not finished: dev (Progressing)" in text
    assert "alone" not in text


def test_an_error_of_a_set_without_apps(whysync: Whysync, source: tuple[str, ...]) -> None:
    ran = whysync("diagnose", "applicationset/argocd/bad", *source)
    text = words(ran.out)
    assert ran.code == 1, ran.err
    assert "ApplicationSet argocd/bad no apps" in text
    assert "spec.generators[0].list.elements[0] has no region" in text or "has no region" in text
    assert "which creates this app" not in text
    assert "need attention" not in text


def test_a_set_without_a_problem(whysync: Whysync, source: tuple[str, ...]) -> None:
    ran = whysync("diagnose", "appset/calm", *source)
    assert "it generates its apps without an error" in ran.out
    assert ran.code in (0, 3)


def test_the_data(whysync: Whysync, source: tuple[str, ...]) -> None:
    data = json.loads(whysync("diagnose", "appset/web", *source, "-o", "json").out)
    (one,) = data["applicationSets"]
    assert [member["name"] for member in one["members"]] == ["dev", "eu"]
    assert one["members"][1]["waits"] == "step 1 is not finished: dev (Progressing)"
    assert [finding["rule"] for finding in one["findings"]] == ["application_set_rollout_unfinished"]
    assert {app["name"] for app in data["apps"]} == {"dev", "eu"}
    assert {app["applicationSet"] for app in data["apps"]} == {"web"}


@pytest.mark.parametrize("output", ["markdown", "yaml", "html", "short", "wide", "name"])
def test_every_format(whysync: Whysync, tmp_path: Path, output: str) -> None:
    with reading("bundle", tmp_path, world()) as flags:
        ran = whysync("diagnose", "appset/web", *flags, "-o", output)
    assert ran.code == 1, ran.err
    assert "eu" in ran.out
    if output != "name":
        assert "step 1" in ran.out


def test_an_app_knows_its_step(whysync: Whysync, source: tuple[str, ...]) -> None:
    text = words(whysync("diagnose", "eu", *source).out)
    assert "step 2 of ApplicationSet web, Waiting: step 1 is not finished: dev (Progressing)" in text


def test_a_set_that_is_not_there(whysync: Whysync, source: tuple[str, ...]) -> None:
    ran = whysync("diagnose", "appset/wbe", *source)
    assert ran.code == 2
    assert "ApplicationSet" in ran.err
    assert "wbe" in ran.err


def test_bad_arguments(whysync: Whysync, tmp_path: Path) -> None:
    with reading("bundle", tmp_path, world()) as flags:
        both = whysync("diagnose", "appset/web", "alone", *flags)
        empty = whysync("diagnose", "appset/", *flags)
    assert (both.code, empty.code) == (2, 2)
    assert "together" in both.err


def test_progressive_syncs_that_are_not_enabled(whysync: Whysync, tmp_path: Path) -> None:
    params = thing("v1", "ConfigMap", "argocd-cmd-params-cm", "argocd", data={})
    one = rolling()
    one["status"] = {}
    with reading("bundle", tmp_path, [one, generated("dev", "dev"), params]) as flags:
        text = words(whysync("diagnose", "appset/web", *flags).out)
    assert "progressive syncs are not enabled" in text
    assert "applicationsetcontroller.enable.progressive.syncs" in text
