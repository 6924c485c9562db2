"""`whysync plan` in a partial clone: what is missing is named, and nothing is concluded from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Ran, Whysync
from tests.plan.shop import CONFIG, Shop

MISSING = "is missing in this partial clone; fetch it: git fetch --refetch --no-filter"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    repo = Shop(tmp_path / "shop")
    repo.commit({"apps/shop/config.yaml": CONFIG.replace("hello", "goodbye")})
    monkeypatch.chdir(repo.folder)
    return repo


def planned_without(shop: Shop, whysync: Whysync, *lost: str) -> Ran:
    for revision in lost:
        blob = shop.git("rev-parse", revision)
        (shop.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    return whysync("plan", "--base", "main", "--head", "feature")


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_manifest_of_the_head(shop: Shop, whysync: Whysync) -> None:
    done = planned_without(shop, whysync, "feature:apps/shop/config.yaml")
    assert done.code == 3
    assert f"Unknown. shop: its manifests: the content of 'apps/shop/config.yaml' {MISSING}" in words(
        done.out
    )
    assert "Would" not in done.out


def test_all_manifests_of_the_head(shop: Shop, whysync: Whysync) -> None:
    names = shop.git("ls-tree", "--name-only", "feature", "apps/shop/").split()
    done = planned_without(shop, whysync, *(f"feature:{name}" for name in names))
    assert done.code == 3
    assert (
        f"Unknown. shop: its manifests: the content of 'apps/shop/config.yaml' and 2 others {MISSING}"
        in words(done.out)
    )


def test_a_manifest_of_the_base(shop: Shop, whysync: Whysync) -> None:
    done = planned_without(shop, whysync, "main:apps/shop/config.yaml")
    assert done.code == 3
    assert f"the manifests of the base: the content of 'apps/shop/config.yaml' {MISSING}" in words(done.out)
    assert "all objects are listed as new" in words(done.out)
    assert "safe to merge" not in done.out


def test_the_application(shop: Shop, whysync: Whysync) -> None:
    done = planned_without(shop, whysync, "feature:argocd/shop.yaml")
    assert done.code == 2
    assert f"feature: the content of 'argocd/shop.yaml' {MISSING}" in words(done.err)


@pytest.mark.parametrize(("name", "is_blamed"), [("manual.pdf", False), ("base.yaml", True)])
def test_a_document_is_not_the_reason_of_a_failure(
    tmp_path: Path, whysync: Whysync, monkeypatch: pytest.MonkeyPatch, name: str, is_blamed: bool
) -> None:
    """The app cannot be rendered; only a manifest elsewhere may be what it lacks."""
    shop = Shop(tmp_path / "shop")
    shop.commit(
        {f"docs/{name}": "a", "apps/shop/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n"}
    )
    monkeypatch.chdir(shop.folder)
    done = planned_without(shop, whysync, f"feature:docs/{name}")
    assert (done.code, "Unknown." in done.out) == ((3, True) if is_blamed else (1, False))
