"""`manifest-generate-paths`: which commits concern an app, and paths that match nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.shop import APP, CONFIG, Shop
from tests.plan.test_plan import planned_changes


def annotated(paths: str) -> str:
    annotation = f'annotations: {{argocd.argoproj.io/manifest-generate-paths: "{paths}"}}'
    return APP.replace("namespace: argocd}", f"namespace: argocd, {annotation}}}", 1)


@pytest.mark.parametrize(
    ("paths", "unmatched"),
    [
        (".", []),
        ("/apps", []),
        ("/apps/*", ["/apps/*"]),
        ("/apps/*/config.yaml", []),
        ("../shop;/argocd", []),
        ("/apps/shp", ["/apps/shp"]),
        (".;../base", ["../base"]),
        # Go's filepath.Match: `*` matches no `/`.
        ("/app*/config.yaml", ["/app*/config.yaml"]),
    ],
)
def test_paths_that_match_no_file_are_reported(tmp_path: Path, paths: str, unmatched: list[str]) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/shop.yaml": annotated(paths), "apps/shop/config.yaml": CONFIG})
    notes = planned_changes(shop).notes
    assert [note.partition(": ")[2].partition(" matches no file")[0] for note in notes] == unmatched


def test_many_paths_that_match_no_file_are_one_note(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/shop.yaml": annotated("/a;/b;/c;/d"), "apps/shop/config.yaml": CONFIG})
    (note,) = planned_changes(shop).notes
    assert "of 1 app (shop): 4 paths match no file, such as /a," in note


def test_a_glob_does_not_cross_folders(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/shop.yaml": annotated("/app*;/argocd"), "apps/shop/config.yaml": CONFIG})
    shop.git("branch", "-f", "main")
    shop.commit({"apps/shop/config.yaml": CONFIG.replace("hello", "hi")})
    plan = planned_changes(shop)
    assert plan.untouched == ("argocd/shop",)
    shop.commit({"argocd/shop.yaml": annotated("/apps/*/*"), "apps/shop/config.yaml": CONFIG})
    shop.git("branch", "-f", "main")
    shop.commit({"apps/shop/config.yaml": CONFIG.replace("hello", "hi")})
    assert [app.name for app in planned_changes(shop).apps] == ["argocd/shop"]


def test_paths_of_which_none_matches_a_file_hide_no_change(tmp_path: Path) -> None:
    """Argo CD renders the app again when its cache expires."""
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/shop.yaml": annotated("/app*;missing"), "apps/shop/config.yaml": CONFIG})
    shop.git("branch", "-f", "main")
    shop.commit({"apps/shop/config.yaml": CONFIG.replace("hello", "hi")})
    assert [app.name for app in planned_changes(shop).apps] == ["argocd/shop"]
