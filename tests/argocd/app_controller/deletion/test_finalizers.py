"""The finalizers of an Application."""

from __future__ import annotations

import pytest

from whysync.argocd.app_controller.deletion.finalizers import RESOURCES, Finalizers, with_hook_finalizers
from whysync.argocd.hooks.recognition import DeletionHook
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Object

PRE = "pre-delete-finalizer.argocd.argoproj.io"
POST = "post-delete-finalizer.argocd.argoproj.io"


@pytest.mark.parametrize(
    ("names", "cascades", "propagation"),
    [
        ((), False, Propagation.FOREGROUND),
        (("example.com/other",), False, Propagation.FOREGROUND),
        ((RESOURCES,), True, Propagation.FOREGROUND),
        ((f"{RESOURCES}/foreground",), True, Propagation.FOREGROUND),
        ((f"{RESOURCES}/background",), True, Propagation.BACKGROUND),
        ((RESOURCES, f"{RESOURCES}/background"), True, Propagation.FOREGROUND),
        ((f"{RESOURCES}/orphan",), False, Propagation.FOREGROUND),
    ],
)
def test_whether_and_how_the_resources_go(
    names: tuple[str, ...], propagation: Propagation, *, cascades: bool
) -> None:
    result = Finalizers(names)
    assert (result.cascades, result.propagation) == (cascades, propagation)


def test_the_last_one_takes_the_place_of_the_one_that_goes() -> None:
    result = Finalizers((RESOURCES, "a", "b"))
    result.stop_cascading()
    assert result.names == ("b", "a")
    result.stop_cascading()
    assert result.names == ("b", "a")


def test_without_a_cluster_all_of_argo_cd_goes_and_others_stay() -> None:
    result = Finalizers(
        (PRE, f"{PRE}/cleanup", RESOURCES, "a", f"{RESOURCES}/background", POST, f"{POST}/cleanup")
    )
    result.remove_all()
    assert result.names == ("a",)


def test_hooks_in_git_bring_their_finalizers_and_take_them_away() -> None:
    app: Object = {"metadata": {"finalizers": [RESOURCES]}}
    names = with_hook_finalizers(app, pre_delete=True, post_delete=False)
    assert names == (RESOURCES, PRE, f"{PRE}/cleanup")
    both: Object = {"metadata": {"finalizers": list(names)}}
    assert with_hook_finalizers(both, pre_delete=True, post_delete=False) == names
    assert with_hook_finalizers(both, pre_delete=True, post_delete=True) == (
        *names,
        POST,
        f"{POST}/cleanup",
    )
    assert with_hook_finalizers(both, pre_delete=False, post_delete=False) == (RESOURCES,)


def test_an_application_that_is_being_deleted_keeps_what_it_has() -> None:
    app: Object = {"metadata": {"finalizers": [PRE], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert with_hook_finalizers(app, pre_delete=False, post_delete=True) == (PRE,)


def test_hooks_and_their_cleanup_are_two_things() -> None:
    result = Finalizers((PRE, f"{PRE}/cleanup"))
    result.remove(DeletionHook.PRE_DELETE)
    assert not result.has(DeletionHook.PRE_DELETE)
    assert result.has(DeletionHook.PRE_DELETE, "/cleanup")
