"""An object is kept from the prune of another app, and has its own sync options again afterwards."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of, config_map
from whysync.json_tree import Object, fields
from whysync.queries.tracking import kept_from_prune

OPTIONS = "argocd.argoproj.io/sync-options"
ON_IT = "kubectl -n shop annotate configmap settings"


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ("", f"{ON_IT} {OPTIONS}=Prune=false", (f"{ON_IT} {OPTIONS}-",)),
        (
            "ServerSideApply=true",
            f"{ON_IT} {OPTIONS}=ServerSideApply=true,Prune=false --overwrite",
            (f"{ON_IT} {OPTIONS}=ServerSideApply=true --overwrite",),
        ),
        ("Delete=false, Prune=false", "# ConfigMap shop/settings has Prune=false", ()),
    ],
)
def test_other_sync_options_stay(options: str, before: str, after: tuple[str, ...]) -> None:
    live: Object = config_map()
    metadata = fields(live["metadata"])
    metadata["annotations"] = {OPTIONS: options} if options else {}
    case = case_of(application("shop"), live)
    [manifest] = case.live_of_kind("ConfigMap")
    kept, released = kept_from_prune(case, manifest.ref)
    assert [command.startswith(before) for command in kept] == [True]
    assert released == after
