"""Which objects go with their Application when it is deleted.

Mirrors `shouldBeDeleted` of the application controller, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from whysync.argocd.hooks.annotations import SYNC_OPTIONS, has_option, option_value
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.api.ref import ref_of

_HELM_POLICY: Final = "helm.sh/resource-policy"
_DELETE: Final = "Delete"


class Fate(StrEnum):
    DELETED = "deleted"
    KEPT_BY_OPTION = "kept-by-option"
    """`Delete=false`, on the object or on the Application; the object's own word wins."""
    KEPT_BY_HELM = "kept-by-helm"
    KEPT_AS_CRD = "kept-as-crd"
    """Definitions are never deleted: all their objects would go with them."""
    IS_THE_APP = "is-the-app"


def fate_of(obj: Object, app: Object, sync_options: Iterable[str]) -> Fate:
    ref = ref_of(obj)
    if ref.group == "apiextensions.k8s.io" and ref.kind == "CustomResourceDefinition":
        return Fate.KEPT_AS_CRD
    if ref.group == "argoproj.io" and ref.kind == "Application" and _identity(obj) == _identity(app):
        return Fate.IS_THE_APP
    option = option_value(obj, SYNC_OPTIONS, _DELETE)
    if option is None:
        prefix = f"{_DELETE}="
        option = next(
            (
                sync_option.removeprefix(prefix)
                for sync_option in sync_options
                if sync_option.startswith(prefix)
            ),
            None,
        )
    if option == "false":
        return Fate.KEPT_BY_OPTION
    return Fate.KEPT_BY_HELM if has_option(obj, _HELM_POLICY, "keep") else Fate.DELETED


def _identity(obj: Object) -> tuple[str, str, str]:
    return (
        text(dig(obj, "metadata", "uid")),
        text(dig(obj, "metadata", "namespace")),
        text(dig(obj, "metadata", "name")),
    )
