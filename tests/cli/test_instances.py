"""Apps of the same name from several bundles, namespaces or instances are all kept and told apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.situations import application, config_map
from whysync import app
from whysync.facts.bundle.reader import instance_names
from whysync.json_tree import Object, dig, fields, items


def _write(path: Path, *objects: Object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n---\n".join(map(json.dumps, objects)))
    return str(path)


DOWN = (
    "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown"
    " desc = failed to list refs: dial tcp: lookup git.example.com on 10.96.0.10:53: no such host"
)


def _app(uid: str) -> Object:
    condition: Object = {
        "type": "ComparisonError", "message": DOWN, "lastTransitionTime": "2026-03-02T03:00:00Z",
    }  # fmt: skip
    body = application(sync="Unknown", status={"conditions": [condition]})
    fields(body["metadata"])["uid"] = uid
    return body


def _bundle(folder: Path, *, uid: str, live: str) -> str:
    _write(folder / "applications" / "shop.yaml", _app(uid))
    _write(folder / "desired" / "shop" / "settings.yaml", config_map(data={"mode": "a"}, desired=True))
    _write(folder / "live" / "settings.yaml", config_map(data={"mode": live}))
    return str(folder)


@pytest.fixture
def two_bundles(tmp_path: Path) -> tuple[str, ...]:
    paths = [_bundle(tmp_path / name, uid=name, live=name) for name in ("prod", "staging")]
    return tuple(argument for path in paths for argument in ("--bundle", path))


def test_both_are_listed_with_their_instance(whysync: Whysync, two_bundles: tuple[str, ...]) -> None:
    out = whysync("list", *two_bundles).out
    assert [line.split()[:2] for line in out.splitlines()[:3]] == [
        ["INSTANCE", "APP"],
        ["prod", "shop"],
        ["staging", "shop"],
    ]
    assert whysync("list", *two_bundles, "-o", "name").out == "prod/argocd/shop\nstaging/argocd/shop\n"
    rows = items(fields(json.loads(whysync("list", *two_bundles, "-o", "json").out))["apps"])
    assert [dig(row, "instance") for row in rows] == ["prod", "staging"]


def test_each_has_its_own_facts(whysync: Whysync, two_bundles: tuple[str, ...]) -> None:
    worlds = app.read(app.FactSource(bundles=two_bundles[1::2]))
    assert [dig(world.snapshot.live[0].body, "data", "mode") for world in worlds] == ["prod", "staging"]
    report = fields(json.loads(whysync("diagnose", *two_bundles, "--no-proof", "-o", "json").out))
    assert [dig(app_report, "instance") for app_report in items(report["apps"])] == ["prod", "staging"]
    assert [dig(group, "apps") for group in items(report["groups"])] == [
        ["prod/argocd/shop"],
        ["staging/argocd/shop"],
    ], "two instances have no cause in common"


def test_an_instance_can_be_named(whysync: Whysync, two_bundles: tuple[str, ...]) -> None:
    single = whysync("diagnose", "staging/argocd/shop", *two_bundles, "--no-proof").out
    assert single.startswith("✗ staging/argocd/shop ")
    both = whysync("diagnose", "shop", *two_bundles, "--no-proof").out
    assert "✗ prod/argocd/shop " in both
    assert "✗ staging/argocd/shop " in both


def test_an_input_without_applications_belongs_to_every_instance(tmp_path: Path) -> None:
    settings = config_map("argocd-cm", data={"a": "b"})
    settings["metadata"] = {"name": "argocd-cm", "namespace": "argocd"}
    _write(tmp_path / "settings" / "argocd-cm.yaml", settings)
    paths = [_bundle(tmp_path / name, uid=name, live=name) for name in ("prod", "staging")]
    worlds = app.read(app.FactSource(bundles=(*paths, str(tmp_path / "settings"))))
    assert [world.snapshot.instance for world in worlds] == ["prod", "staging"]
    assert all([m.ref.name for m in world.snapshot.settings] == ["argocd-cm"] for world in worlds)


def test_the_same_object_read_twice_is_one_app(tmp_path: Path) -> None:
    paths = tuple(_bundle(tmp_path / name, uid="same", live="b") for name in ("first", "second"))
    newer = application(health="Degraded")
    fields(newer["metadata"])["uid"] = "same"
    _write(tmp_path / "second" / "applications" / "shop.yaml", newer)
    (world,) = app.read(app.FactSource(bundles=paths))
    assert world.snapshot.instance == ""
    assert len(world.decoded) == 1


def test_the_namespace_tells_apps_of_one_instance_apart(whysync: Whysync, tmp_path: Path) -> None:
    for namespace in ("argocd", "team-a"):
        _write(tmp_path / "b" / f"{namespace}.yaml", application(namespace=namespace, health="Degraded"))
    out = whysync("diagnose", "--bundle", str(tmp_path / "b")).out
    assert "argocd/shop" in out
    assert "team-a/shop" in out


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/prod.tar.gz", "staging.zip"], ["prod", "staging"]),
        (["/x/prod/bundle", "/x/staging/bundle"], ["prod", "staging"]),
        (["/x/b", "/x/b"], ["b-1", "b-2"]),
        (["-", "/x/b.yaml"], ["stdin", "b"]),
    ],
)
def test_the_names_of_instances(paths: list[str], names: list[str]) -> None:
    assert instance_names(paths) == names
