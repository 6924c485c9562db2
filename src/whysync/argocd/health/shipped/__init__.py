"""The health checks that Argo CD ships for custom kinds, as tables.

One module per API group, named after the group with `_` for what a name cannot hold:
`cert-manager.io` is `cert_manager_io`. Each says `GROUP`, the group itself (two groups may give one
name), and `CHECKS`, a check for each kind; the kind `*` stands for all kinds of a group. Modules are
imported when an object of their group is asked about, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped.lua import LuaError
from whysync.argocd.health.shipped.vocabulary import Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object

_EVERY_KIND: Final = "*"

# Upstream tries its wildcard folders in the order of their names; no two of them match the same group.
_FAMILIES: Final = {
    ".cnrm.cloud.google.com": "every_cnrm_cloud_google_com",
    ".crossplane.io": "every_crossplane_io",
    ".services.k8s.aws": "every_services_k8s_aws",
    ".upbound.io": "every_upbound_io",
}


def shipped_check(group: str, kind: str) -> Check | None:
    """The check that Argo CD would use, if nobody overrides it.

    Mirrors `GetHealthScript`, Argo CD 3.6: the exact kind first, then the wildcards.
    """
    checks = _checks_of(group)
    found = checks.get(kind) or checks.get(_EVERY_KIND)
    if found is not None:
        return found
    for ending, module in _FAMILIES.items():
        if group.endswith(ending):
            return _checks_in(module, "*" + ending).get(_EVERY_KIND)
    return None


def judge(check: Check, obj: Object) -> HealthVerdict:
    """Runs a check; a script that would have failed gives Unknown and says why, as in Argo CD."""
    try:
        return check(obj) or HealthVerdict(None)
    except LuaError as error:
        return HealthVerdict(HealthCode.UNKNOWN, str(error))


@cache
def _checks_of(group: str) -> Mapping[str, Check]:
    return _checks_in("".join(char if char.isalnum() else "_" for char in group), group)


def _checks_in(module: str, group: str) -> Mapping[str, Check]:
    where = f"{__name__}.{module}"
    if not module or not module.isascii() or find_spec(where) is None:
        return {}
    found = import_module(where)
    return found.CHECKS if getattr(found, "GROUP", None) == group else {}
