"""What a commit does not bring: what is taken to be there, and what is not."""

from __future__ import annotations

from pathlib import Path

from tests.planning.shop import DEPLOYMENT, Shop
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
