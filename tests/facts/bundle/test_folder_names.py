from __future__ import annotations

from pathlib import Path

import pytest

from whysync.facts.bundle import read_bundle

APPLICATION = (
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\n"
)
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: shop, namespace: web}\n"


@pytest.mark.parametrize("name", ["facts", "live", "desired", "logs", "my-bundle"])
def test_a_bundle_may_be_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    for directory, text in (("applications", APPLICATION), ("live", SERVICE)):
        (root / directory).mkdir(parents=True)
        (root / directory / "one.yaml").write_text(text)
    for paths in ([root], [root, root / "live" / "one.yaml"]):
        snapshot = read_bundle(paths)
        assert [app.ref.name for app in snapshot.applications] == ["shop"]
        assert [live.ref.kind for live in snapshot.live] == ["Service"]


def test_a_part_of_a_bundle_keeps_its_meaning(tmp_path: Path) -> None:
    (tmp_path / "desired" / "shop").mkdir(parents=True)
    (tmp_path / "desired" / "shop" / "one.yaml").write_text(SERVICE)
    (tmp_path / "app.yaml").write_text(APPLICATION)
    snapshot = read_bundle([tmp_path / "app.yaml", tmp_path / "desired"])
    assert [desired_object.ref.kind for desired_object in snapshot.desired["argocd/shop"]] == ["Service"]
