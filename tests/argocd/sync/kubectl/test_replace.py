"""`kubectl create` and `kubectl replace`, with and without `--force`."""

from __future__ import annotations

from msgspec.structs import replace

from tests.argocd.sync.kubectl.shop import (
    ARGOCD,
    DRY,
    FORCE,
    Shop,
    a_config,
    a_deployment,
    a_job,
    a_widget,
    outcome_of,
)
from tests.argocd.sync.kubectl.test_client_side import managers
from whysync.argocd.sync.cluster_ops import Mode
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.merge.last_applied import LAST_APPLIED


def replaced(shop: Shop, obj: Object, mode: Mode = ARGOCD) -> str:
    return outcome_of(lambda: shop.cluster_ops.replace(obj, mode))


def created(shop: Shop, obj: Object, mode: Mode = ARGOCD) -> str:
    return outcome_of(lambda: shop.cluster_ops.create(obj, mode))


def test_create_leaves_no_annotation_and_names_no_manager() -> None:
    shop = Shop()
    assert created(shop, a_config(a="1")) == "configmap/settings created"
    live = shop.live(a_config())
    assert LAST_APPLIED not in fields(dig(live, "metadata", "annotations") or {})
    assert managers(live) == [("argocd-application-controller", "Update")]
    assert created(shop, a_config(a="1")) == 'refused: configmaps "settings" already exists'


def test_create_takes_the_namespace_default_where_none_is_named() -> None:
    shop = Shop()
    lost = a_config(a="1")
    lost["metadata"] = {"name": "settings"}
    assert created(shop, lost) == 'refused: namespaces "default" not found'


def test_replace_takes_what_others_added_away() -> None:
    shop = Shop()
    created(shop, a_config(a="1", theirs="2"))
    assert replaced(shop, a_config(a="1")) == "configmap/settings replaced"
    assert shop.live(a_config())["data"] == {"a": "1"}


def test_replace_of_what_cannot_be_changed() -> None:
    shop = Shop()
    created(shop, a_deployment())
    changed = replaced(shop, a_deployment(selects="other"))
    assert changed.startswith('refused: error when replacing "/dev/shm/')
    assert changed.endswith("field is immutable")


def test_replace_of_what_is_gone() -> None:
    changed = replaced(Shop(), a_config(a="1"))
    assert changed.endswith('": configmaps "settings" not found')


def test_replace_with_a_version_of_its_own() -> None:
    shop = Shop()
    created(shop, a_config(a="1"))
    stale = a_config(a="2")
    stale["metadata"] = {**fields(stale["metadata"]), "resourceVersion": "1"}
    changed = replaced(shop, stale)
    assert (
        '": Operation cannot be fulfilled on configmaps "settings": the object has been modified' in changed
    )


def test_force_deletes_first_and_says_so() -> None:
    shop = Shop()
    created(shop, a_job())
    before = dig(shop.live(a_job()), "metadata", "uid")
    assert replaced(shop, a_job(image="migrate:2"), FORCE) == (
        'job.batch "migrate" deleted from shop namespace\njob.batch/migrate replaced'
    )
    assert dig(shop.live(a_job()), "metadata", "uid") != before


def test_force_needs_something_to_delete() -> None:
    changed = replaced(Shop(), a_job(), FORCE)
    assert changed.startswith('refused: error when deleting "/dev/shm/')
    assert changed.endswith('": jobs.batch "migrate" not found')


def test_force_waits_for_what_a_finalizer_holds_and_gives_up() -> None:
    shop = Shop()
    with_finalizer = a_config(a="1")
    with_finalizer["metadata"] = {
        **fields(with_finalizer["metadata"]),
        "finalizers": ["example.com/hold"],
    }
    created(shop, with_finalizer)
    assert replaced(shop, a_config(a="2"), FORCE) == "refused: context deadline exceeded"


def test_dry_runs() -> None:
    shop = Shop()
    assert created(shop, a_config(a="1"), DRY) == "configmap/settings created (dry run)"
    assert replaced(shop, a_config(a="1"), DRY) == "configmap/settings replaced (dry run)"
    assert (
        replaced(shop, a_config(a="1"), replace(DRY, force=True)) == "configmap/settings replaced (dry run)"
    )
    assert not shop.has(a_config())
    assert "no matches for kind" in created(shop, a_widget(), DRY)
