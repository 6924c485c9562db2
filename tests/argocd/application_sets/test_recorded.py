"""ApplicationSets, compared with the answers of Argo CD 3.6 (`GenerateApplications`)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.argocd.application_sets.test_expand import Inputs
from whysync.argocd.application_sets.errors import NotExpanded
from whysync.argocd.application_sets.expand import expanded
from whysync.golang.fmt import sorted_json
from whysync.json_tree import Object, dig, fields, items, text
from whysync.plan.generator_inputs import secret_clusters

RECORDED: Final = fields(msgspec.json.decode(Path(__file__).with_name("recorded_sets.json").read_bytes()))
SETS: Final = [fields(row) for row in items(RECORDED["sets"])]
# Argo CD renders these names, but the API server or Argo CD refuses them later.
_REFUSED_LATER: Final = ("no generator has a parameter", "duplicate name", "no generator (none)")


def comparable(application: Object) -> str:
    meta = fields(application["metadata"])
    kept: Object = {
        key: value for key, value in meta.items() if value and key not in ("namespace", "finalizers")
    }
    finalizers = sorted(map(text, items(meta.get("finalizers"))))
    return sorted_json({"metadata": {**kept, "finalizers": [*finalizers]}, "spec": application["spec"]})


@pytest.mark.parametrize("row", SETS, ids=lambda row: text(dig(row, "spec", "template", "metadata", "name")))
def test_as_argocd_expands_it(row: Object, tmp_path: Path) -> None:
    for path, content in fields(RECORDED["files"]).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text(content))
    secrets: list[Object] = [{**fields(secret), "kind": "Secret"} for secret in items(RECORDED["secrets"])]
    inputs = AnyRepository(tmp_path, list(secret_clusters(secrets)))
    body: Object = {"metadata": {"name": "set", "namespace": "argocd"}, "spec": row["spec"]}
    recorded = row["applications"]
    why, found = "", list[str]()
    try:
        found = sorted(map(comparable, expanded(body, inputs)))
    except NotExpanded as problem:
        why = str(problem)
    if why:
        assert recorded is None or any(reason in why for reason in _REFUSED_LATER)
        return
    assert found == sorted(comparable(fields(application)) for application in items(recorded))


class AnyRepository(Inputs):
    def folder_of(self, options: Object) -> Path:
        del options
        return self.root
