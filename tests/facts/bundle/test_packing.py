"""A large bundle is kept packed while it is read; nobody who reads the Snapshot sees a difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.diagnose import write
from whysync import app
from whysync.facts.bundle import read_bundle, reader
from whysync.facts.bundle.builder import AddedObjects, BundleBuilder
from whysync.facts.bundle.entries import Entry
from whysync.facts.bundle.limits import BundleLimits
from whysync.facts.bundle.packing import Packer
from whysync.facts.masking import Masker
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.packed_bodies import OpenPacks, PackedBodies
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


@pytest.mark.parametrize(
    "document",
    [
        {
            "kind": "SecretList",
            "apiVersion": "v1",
            "items": [{"metadata": {"name": "a"}, "data": {"a": "czNjcjN0LWlu"}}],
        },
        {
            "kind": "List",
            "items": [{"kind": "SecretList", "apiVersion": "v1", "items": [{"data": {"a": "czNjcjN0LWlu"}}]}],
        },
        {"items": [{"targetState": '{"kind": "Secret", "apiVersion": "v1", "data": {"a": "czNjcjN0LWlu"}}'}]},
        [manifest("Secret", "a", data={"a": "czNjcjN0LWlu"})],
        manifest("Secret", "a", data={"a": "czNjcjN0LWlu"}),
        manifest("ConfigMap", 'a"b\\', data={'say "password"': "s3cr3t-in"}),
        manifest("ConfigMap", "a", data={"p\u00e4ssword": "x", "password": "s3cr3t-in", "\n\t": "\\"}),
        {
            "kind": "List",
            "items": [deployment(f"d{at}", **{f"TOKEN_{at}": f"s3cr3t-in-{at}"}) for at in range(99)],
        },
    ],
)
def test_documents_of_any_form_are_masked_as_in_a_small_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: Json
) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / "a.json").write_text(json.dumps(document))
    (tmp_path / "live" / "b.json").write_text(json.dumps(deployment("plain", LEVEL="info")))
    plain = bodies(read_bundle([tmp_path]))
    monkeypatch.setattr(reader, "PACKED_FROM", 0)
    snapshot = read_bundle([tmp_path])
    assert any(live.is_packed for live in snapshot.live)
    assert bodies(snapshot) == plain
    assert "s3cr3t" not in str(plain)
    assert "czNjcjN0" not in str(plain)


def test_only_objects_with_a_loud_text_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file has one Secret among many objects without secrets."""
    objects = [deployment(f"web-{at}", LEVEL="info") for at in range(200)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects, FILES["live/shop.json"][3]]})
    builder = BundleBuilder(BundleLimits())
    builder.add(Entry(name="live/all.json", data=text.encode()), packing=True)
    checked: list[str] = []
    masker = Masker()
    is_harmless = masker.is_harmless

    def counted(body: Object, encoded: bytes) -> bool:
        checked.append(str(body["kind"]))
        return is_harmless(body, encoded)

    monkeypatch.setattr(masker, "is_harmless", counted)
    packer = Packer(masker)
    added = builder.added()
    assert added is not None
    packer.add(added)
    assert packer.finish()
    assert checked == ["Secret"]
    assert sum(live.is_packed for live in builder.by_role[Role.LIVE]) == 200


def test_applications_that_were_packed_together_are_decoded_once_or_twice() -> None:
    open_packs = OpenPacks()
    applications = [PackedBodies([b"{}"] * 64, open_packs) for _ in range(100)]
    for application in applications:
        for _ in range(8):  # the apps of a pack are diagnosed one after another
            own = PackedBodies([b"{}"], open_packs)
            assert application.bodies()
            assert own.bodies()
            open_packs.close()
            assert not own.is_open
    assert max(application.times_opened for application in applications) <= 3
    assert sum(application.is_open for application in applications) <= 16


def test_what_json_cannot_represent_stays_a_tree() -> None:
    packer = Packer(Masker())
    odd = Manifest(manifest("ConfigMap", "odd", data={"A": "\ud800"}), role=Role.LIVE)
    added = AddedObjects()
    added.add_decoded(odd)
    packer.add(added)
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
