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


def with_element(one: Manifest, path: tuple[str, ...], element: Json) -> Manifest:
    body = copy.deepcopy(one.body)
    document = fields(dig(body, *path[:-1]))
    if path[-1] not in document:
        return one
    document[path[-1]] = [*items(document[path[-1]]), element]
    return Manifest(body, role=one.role, origin=one.origin, cluster=one.cluster)


@pytest.mark.parametrize("element", ["x", None, 3, ["x"], {}], ids=repr)
@pytest.mark.parametrize(
    "path", [("spec", "template", "spec", "containers"), ("spec", "containers"), ("status", "conditions")]
)
@pytest.mark.parametrize("scene", ["crash-loop", "image-rewritten"])
def test_no_error_is_contained(
    scene: str, path: tuple[str, ...], element: Json, caplog: pytest.LogCaptureFixture
) -> None:
    found = of_lab(scene)
    found = replace(found, live=tuple(with_element(live_object, path, element) for live_object in found.live))
    with caplog.at_level(logging.DEBUG, logger="whysync"):
        app.diagnose(app.cases(SnapshotIndex(found)))
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
