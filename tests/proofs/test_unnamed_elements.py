"""Proofs on live lists of named elements with one that is no map: no error is contained."""

from __future__ import annotations

import copy
import logging

import pytest
from msgspec.structs import replace

from tests.facts.argocd_api.scenes import of_lab
from whysync import app
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.json_tree import Json, dig, fields, items
from whysync.kubernetes.api.manifest import Manifest


def with_element(manifest: Manifest, path: tuple[str, ...], element: Json) -> Manifest:
    body = copy.deepcopy(manifest.body)
    document = fields(dig(body, *path[:-1]))
    if path[-1] not in document:
        return manifest
    document[path[-1]] = [*items(document[path[-1]]), element]
    return Manifest(body, role=manifest.role, origin=manifest.origin, cluster=manifest.cluster)


@pytest.mark.parametrize("element", ["x", None, 3, ["x"], {}], ids=repr)
@pytest.mark.parametrize(
    "path", [("spec", "template", "spec", "containers"), ("spec", "containers"), ("status", "conditions")]
)
@pytest.mark.parametrize("scene", ["crash-loop", "image-rewritten"])
def test_no_rule_logs_an_error(
    scene: str, path: tuple[str, ...], element: Json, caplog: pytest.LogCaptureFixture
) -> None:
    snapshot = of_lab(scene)
    snapshot = replace(
        snapshot, live=tuple(with_element(live_object, path, element) for live_object in snapshot.live)
    )
    with caplog.at_level(logging.DEBUG, logger="whysync"):
        app.diagnose(app.cases(SnapshotIndex(snapshot)))
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
