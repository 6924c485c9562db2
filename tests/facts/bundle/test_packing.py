"""A large bundle is kept packed while it is read; nobody who reads the Snapshot sees a difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.diagnose import write
from whysync import app
from whysync.facts.bundle import read_bundle, reader
from whysync.facts.bundle.packing import Packer
from whysync.facts.masking import Masker
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.reports import diagnose_json
from whysync.reports.json_yaml import as_json

SECRET = "Tr0ub4dor-and-3"


def manifest(kind: str, name: str, **rest: Json) -> Object:
    api_version = {"Deployment": "apps/v1", "Application": "argoproj.io/v1alpha1"}.get(kind, "v1")
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop"},
        **rest,
    }


def container(**env: str) -> Object:
    return {"name": "web", "image": "web:1", "env": [{"name": key, "value": env[key]} for key in env]}


def deployment(name: str, **env: str) -> Object:
    return manifest("Deployment", name, spec={"template": {"spec": {"containers": [container(**env)]}}})


# Order matters: masks are numbered by settings, applications, desired, live, not by file.
FILES: dict[str, list[Object]] = {
    "desired/shop/all.json": [deployment("web", LEVEL="info"), deployment("db", PASSWORD="other-Pa55word")],
    "live/shop.json": [
        deployment("web", LEVEL="info", NOTE=f"uses {SECRET}"),
        deployment("plain", LEVEL="info"),
        deployment("quiet", LEVEL="info"),
        manifest("Secret", "login", stringData={"password": SECRET}),
        manifest("ConfigMap", "files", data={"app.yaml": f"token: {SECRET}\nlevel: info\n"}),
        manifest("Pod", "young", status={"message": f"login with {SECRET} failed"}),
    ],
    "applications/shop.json": [
        manifest(
            "Application", "shop", spec={"destination": {"namespace": "shop"}, "source": {"repoURL": "r"}}
        )
    ],
    "settings/argocd-cm.json": [
        manifest("ConfigMap", "argocd-cm", data={"resource.sensitive.mask.annotations": "shop/pin"})
    ],
}


def written(root: Path, *, annotated: bool = False) -> Path:
    for name, bodies in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies})
        if annotated:
            text = text.replace('"name": "plain",', '"name": "plain", "annotations": {"shop/pin": "12ab34"},')
        path.write_text(text)
    return root


def bodies(snapshot: Snapshot) -> list[tuple[str, Object]]:
    groups = (snapshot.settings, snapshot.applications, *snapshot.desired.values(), snapshot.live)
    return [(manifest.origin, manifest.body) for group in groups for manifest in group]


@pytest.mark.parametrize("annotated", [False, True])
def test_masks_and_bodies_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, annotated: bool
) -> None:
    folder = written(tmp_path, annotated=annotated)
    plain = bodies(read_bundle([folder]))
    monkeypatch.setattr(reader, "PACKED_FROM", 0)
    snapshot = read_bundle([folder])
    assert any(live.is_packed for live in snapshot.live)
    assert bodies(snapshot) == plain
    assert SECRET not in str(plain)
    assert "12ab34" not in str(plain)


def test_closed_bodies_are_decoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PACKED_FROM", 0)
    snapshot = read_bundle([written(tmp_path)])
    packed = next(live for live in snapshot.live if live.is_packed)
    before = packed.body
    assert packed.body is before
    assert snapshot.open_packs.close()
    assert packed.body is not before
    assert packed.body == before


def test_what_json_cannot_represent_stays_a_tree() -> None:
    packer = Packer(Masker())
    odd = Manifest(manifest("ConfigMap", "odd", data={"A": "\ud800"}), role=Role.LIVE)
    packer.add([odd])
    assert not packer.finish()
    assert not odd.is_packed


def test_the_report_of_a_fleet_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 12)

    def report() -> str:
        cases = app.cases(app.read(app.FactSource(bundles=(str(tmp_path),))))
        return as_json(diagnose_json.report_v1(app.diagnose(cases, prove=False)))

    plain = report()
    monkeypatch.setattr(reader, "PACKED_FROM", 0)
    assert report() == plain
