"""Renames: nearly the same body under a new name is one; another object of the same kind is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.shop import CONFIG, DEPLOYMENT, PASSWORD, SECRET, SERVICE, Shop
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Key, ref_of
from whysync.kubernetes.api.yaml import load
from whysync.plan.changes import changes_of
from whysync.plan.checkout import open_checkout
from whysync.plan.plan import AppPlan, ChangeKind
from whysync.plan.planner import plan
from whysync.plan.renames import renames
from whysync.reports.plan_text import change_text

STATEFUL = DEPLOYMENT.replace("kind: Deployment", "kind: StatefulSet")
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: shop}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


def body(text: str) -> Object:
    return fields(load(text))


def change_lines(before: str, after: str, *, prunes: bool = True) -> list[str]:
    changes = changes_of([body(before)], [body(after)], "shop", prunes=prunes)
    return [f"{change.sort.value} {change_text(change)}" for change in changes]


def renamed(text: str, name: str = "store") -> str:
    return text.replace("shop", name)


@pytest.mark.parametrize(
    ("kind", "before", "lost"),
    [
        ("Deployment", DEPLOYMENT, ": its pods stop, whether those of store are ready or not"),
        (
            "StatefulSet",
            STATEFUL,
            ": its pods stop, its volumes are kept but not used, and store starts with empty ones",
        ),
        ("PersistentVolumeClaim", CLAIM, ": its data may be lost with it: store starts empty"),
        ("Service", SERVICE, ": clients that use the old name no longer reach it"),
        ("ConfigMap", CONFIG, ""),
    ],
)
def test_what_is_lost(kind: str, before: str, lost: str) -> None:
    assert change_lines(before, renamed(before)) == [
        f"prune {kind} shop (renamed to store: that is a deletion and a creation{lost})",
        f"create {kind} store (was shop)",
    ]


def test_a_secret_with_the_same_data_loses_nothing() -> None:
    note = "renamed to new-token: that is a deletion and a creation"
    assert (
        change_lines(SECRET, SECRET.replace("old-token", "new-token"))[0]
        == f"prune Secret old-token ({note})"
    )
    other = SECRET.replace("old-token", "new-token").replace("stringData: {", "stringData: {a: b, c: d, ")
    assert change_lines(SECRET, other.replace(PASSWORD, "x"))[1] == (
        "prune Secret old-token (pruned! its data is deleted with it)"
    )


def test_nearly_the_same() -> None:
    """A new image and a new name at once."""
    after = renamed(DEPLOYMENT).replace("store:1.0", "store:2.0")
    assert change_lines(DEPLOYMENT, after)[1] == "create Deployment store (was shop)"


def test_labels_that_keep_the_old_name() -> None:
    after = STATEFUL.replace("name: shop}", "name: store}", 1)
    assert change_lines(STATEFUL, after)[1] == "create StatefulSet store (was shop)"
    short = STATEFUL.replace("shop", "db")
    assert (
        change_lines(short, short.replace("name: db}", "name: base}", 1))[1]
        == "create StatefulSet base (was db)"
    )


def test_another_object_is_no_rename() -> None:
    after = CONFIG.replace("name: shop", "name: store").replace("{greeting: hello}", "{colour: red}")
    assert change_lines(CONFIG, after) == ["create ConfigMap store", "prune ConfigMap shop (pruned)"]
    assert change_lines(CONFIG, renamed(CONFIG).replace("ConfigMap", "Secret"))[0].startswith(
        "create Secret store"
    )


def test_a_new_hash_of_a_generator() -> None:
    before = CONFIG.replace("name: shop", "name: shop-5g2ktm8h9c")
    after = CONFIG.replace("name: shop", "name: shop-b7hd4kkf2m").replace("hello", "bye")
    assert change_lines(before, after)[1] == "create ConfigMap shop-b7hd4kkf2m (was shop-5g2ktm8h9c)"


def test_into_another_namespace() -> None:
    after = CONFIG.replace("{name: shop}", "{name: shop, namespace: other}")
    assert change_lines(CONFIG, after) == [
        "prune ConfigMap shop (renamed to other/shop: that is a deletion and a creation)",
        "create ConfigMap shop (was shop/shop)",
    ]


def test_without_pruning_both_are_there() -> None:
    first = change_lines(DEPLOYMENT, renamed(DEPLOYMENT), prunes=False)[0]
    assert first == (
        "keep Deployment shop (renamed to store: that is a creation beside it:"
        " stays in the cluster: it is not pruned)"
    )


def test_of_several_the_closest_pairs() -> None:
    names = [("blue", "hello"), ("green", "hi")]
    old = [body(CONFIG.replace("shop", name).replace("hello", value)) for name, value in names]
    new = [
        body(CONFIG.replace("shop", f"{name}-2").replace("hello", value)) for name, value in reversed(names)
    ]
    pairs = renames(_by_key(old), _by_key(new))
    assert {name.name: other.name for name, other in pairs.items()} == {"blue-2": "blue", "green-2": "green"}


def test_accounts_without_a_body_are_known_by_their_names() -> None:
    account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: shop-web}\n"
    assert (
        change_lines(account, account.replace("shop-web", "shop-api"))[1]
        == "create ServiceAccount shop-api (was shop-web)"
    )
    assert change_lines(account, account.replace("shop-web", "kiln"))[0] == "create ServiceAccount kiln"


def test_thousands_take_no_time() -> None:
    old = _by_key([body(CONFIG.replace("shop", f"old-{n}").replace("hello", str(n))) for n in range(1_500)])
    new = _by_key([body(CONFIG.replace("shop", f"new-{n}").replace("hello", str(n))) for n in range(1_500)])
    assert len(renames(old, new)) <= 1_500


@given(name=st.text(min_size=1, max_size=8), value=st.text(max_size=8))
def test_any_name_and_any_body(name: str, value: str) -> None:
    old: Object = {"apiVersion": "v1", "kind": "A", "metadata": {"name": name}, "data": {"a": value}}
    new: Object = {**old, "metadata": {"name": f"{name}-new"}}
    assert len(renames(_by_key([old]), _by_key([new]))) <= 1


def test_a_plan_of_a_stateful_set_under_a_new_name(tmp_path: Path) -> None:
    """The old one goes with its pods and its history, and the cluster comes to rest."""
    stateful = STATEFUL.replace("app: shop", "app: db")
    shop = Shop(tmp_path / "shop", base={"db.yaml": stateful.replace("name: shop}", "name: db}", 1)})
    shop.put("db.yaml", stateful.replace("name: shop}", "name: base}", 1))
    app = _planned(shop)
    assert [(run.passed, run.message) for run in app.runs] == [(True, ""), (True, "")]
    assert "starts with empty ones" in app.changes[0].risk


def test_in_a_plan_it_is_unsafe_where_data_goes(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"claim.yaml": CLAIM})
    shop.put("claim.yaml", renamed(CLAIM))
    app = _planned(shop)
    assert [(change.sort, change.ref.name) for change in app.changes] == [
        (ChangeKind.PRUNE, "shop"),
        (ChangeKind.CREATE, "store"),
    ]
    assert app.safety is not None
    assert "PersistentVolumeClaim" in app.safety.reasons[0].text


def _planned(shop: Shop) -> AppPlan:
    with open_checkout(str(shop.folder), base="main") as checkout:
        (app,) = plan(checkout).apps
    return app


def _by_key(bodies: list[Object]) -> dict[Key, Object]:
    return {ref_of(body).key: body for body in bodies}
