"""What a commit does not bring: what is taken to be there, and what is not."""

from __future__ import annotations

from pathlib import Path

from tests.planning.shop import DEPLOYMENT, HOOK, Shop
from tests.planning.test_plan import made, only

NEEDY = DEPLOYMENT.replace(
    'image: "shop:1.0"',
    'image: "shop:1.0", env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: url}}}]',
)
EXTERNAL = """\
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: db}
spec: {secretStoreRef: {name: vault, kind: ClusterSecretStore}, target: {name: db}}
"""


def test_a_secret_that_the_base_needs_is_there(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"deployment.yaml": NEEDY})
    shop.put("deployment.yaml", NEEDY.replace("shop:1.0", "shop:1.1"))
    app = only(made(shop))
    assert [run.passed for run in app.runs] == [True, True]
    assert "Secret db is taken to exist" in app.runs[-1].notes


def test_one_that_the_commit_names_first_is_not(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("deployment.yaml", NEEDY)
    app = only(made(shop))
    assert [run.passed for run in app.runs] == [False, False]


def test_but_an_operator_may_make_it(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("deployment.yaml", NEEDY)
    shop.put("secret.yaml", EXTERNAL)
    app = only(made(shop))
    assert [run.passed for run in app.runs] == [True, True]
    assert "the operator of ExternalSecret is taken to do its work" in app.runs[-1].notes


def test_kinds_of_argo_that_are_not_argo_cds(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put(
        "rollout.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: r}\nspec: {}\n"
    )
    app = only(made(shop))
    assert [run.passed for run in app.runs] == [True, True]


def test_a_hook_without_a_name(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put(
        "hook.yaml", HOOK.replace("  name: smoke-test\n", "  generateName: smoke-\n").replace("Pre", "Post")
    )
    app = only(made(shop))
    assert app.passed
    assert [one.ref.name for one in app.changes] == ["smoke-…"]
