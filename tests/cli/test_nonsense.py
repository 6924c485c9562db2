"""lint and plan on what no manifest is: a clear answer, soon, and nothing from outside of the tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.running import Ran, Whysync
from tests.plan.shop import CONFIG, Shop

NOISE = bytes(range(256)) * 500
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    repo = Shop(tmp_path / "shop")
    monkeypatch.chdir(repo.folder)
    return repo


def looked(whysync: Whysync) -> tuple[Ran, Ran]:
    return whysync("lint", "."), whysync("plan", "--base", "main", "--no-proof")


def failing(whysync: Whysync, lint: str, plan: str) -> None:
    """`lint` and `plan` each fail with one sentence and no traceback."""
    for ran, expected in zip(looked(whysync), (lint, plan), strict=True):
        assert (ran.code, ran.err) == (1, ""), ran
        assert expected in " ".join(ran.out.split())


def test_noise_where_a_manifest_should_be(whysync: Whysync, shop: Shop) -> None:
    """As YAML it is passed over, by Argo CD too; as JSON nothing of the folder is deployed."""
    (shop.folder / "apps/shop/noise.yaml").write_bytes(NOISE)
    (shop.folder / "argocd/noise.yaml").write_bytes(b"argoproj.io Application" + NOISE)
    lint, plan = looked(whysync)
    assert (lint.code, plan.code) == (0, 0)
    (shop.folder / "apps/shop/noise.json").write_bytes(NOISE)
    failing(
        whysync,
        "apps/shop/noise.json:2:1: critical manifest_yaml_invalid invalid YAML: this is not UTF-8 text",
        'Failed to unmarshal "noise.json"',
    )


def test_noise_elsewhere_is_none_of_our_business(whysync: Whysync, shop: Shop) -> None:
    (shop.folder / "noise.yaml").write_bytes(NOISE)
    (shop.folder / "zeros.json").write_bytes(b"\0" * 100_000)
    lint, plan = looked(whysync)
    assert (lint.code, plan.code) == (0, 0)
    assert whysync("lint", "noise.yaml").code == 1, "it was asked for"


def test_zeros(whysync: Whysync, shop: Shop) -> None:
    (shop.folder / "apps/shop/zeros.json").write_bytes(b"\0" * 100_000)
    failing(whysync, "control characters are not allowed: it is no text", 'Failed to unmarshal "zeros.json"')


def test_a_bomb(whysync: Whysync, shop: Shop) -> None:
    nested = "data:\n" + "".join(f"  {line}\n" for line in BOMB.splitlines())
    shop.put("bomb.yaml", CONFIG.replace("data: {greeting: hello}\n", nested))
    failing(whysync, "excessive aliasing", "excessive aliasing")


def test_deep_nesting(whysync: Whysync, shop: Shop) -> None:
    shop.put("deep.yaml", f"{CONFIG}a: {'[' * 30_000}{']' * 30_000}\n")
    shop.put("deep.json", '{"kind":' * 30_000 + "1" + "}" * 30_000)
    failing(whysync, "apps/shop/deep.json", "exceeded max depth")


def test_a_huge_file(whysync: Whysync, shop: Shop) -> None:
    with (shop.folder / "apps/shop/huge.yaml").open("wb") as file:
        file.write(CONFIG.encode())
        file.truncate(70 << 20)  # a hole: it takes no room on the disk
    lint, plan = looked(whysync)
    assert (lint.code, plan.code) == (3, 1)
    assert "not checked apps/shop/huge.yaml: larger than 64 MiB" in " ".join(lint.out.split())
    assert "huge.yaml" in plan.out or "size" in plan.out


def test_links_that_lead_away(whysync: Whysync, shop: Shop, tmp_path: Path) -> None:
    """Links out of the repository are not followed; a named pipe is not read, which would block."""
    (tmp_path / "secret.yaml").write_text(CONFIG.replace("hello", "from outside"))
    folder = shop.folder / "apps/shop"
    for name, target in (
        ("out.yaml", "../../../secret.yaml"),
        ("root", "/"),
        ("loop", "loop"),
        ("self", "."),
    ):
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe.yaml")
    lint, plan = looked(whysync)
    assert (lint.code, plan.code) == (0, 1)
    assert "out.yaml is a symlink that points outside the repository" in " ".join(plan.out.split())
    assert "from outside" not in lint.out + plan.out


def test_bases_in_a_ring(whysync: Whysync, shop: Shop) -> None:
    """Kustomizations that include each other are reported, with or without Kustomize installed."""
    shop.put("kustomization.yaml", "resources: [../other]\n")
    (shop.folder / "apps/other").mkdir()
    (shop.folder / "apps/other/kustomization.yaml").write_text("resources: [../shop]\n")
    lint, plan = looked(whysync)
    assert lint.code in (0, 3)
    assert plan.code in (1, 3)
    output = " ".join(lint.out.split())
    assert "cycle detected" in output or "no Kustomize here" in output
