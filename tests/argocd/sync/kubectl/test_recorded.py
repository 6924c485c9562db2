"""Runs of a real kubectl against a real API server: the same words, the same objects, the same managers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.argocd.sync.kubectl.shop import a_namespace, outcome_of
from tests.conformance.apiserver import differences, request_of
from tests.shared import CONFORMANCE, needs_shared
from whysync.argocd.sync.cluster_ops import Mode, Refused
from whysync.argocd.sync.kubectl.cluster_ops import KubectlClusterOps
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.apiserver.server import ApiServer

OTHERWISE = {
    "csa-unknown-field": "kubectl asks for strict validation, Argo CD does not",
    "csa-missing-namespace-flag": "Argo CD never names another namespace than the object's",
    "csa-then-server-side": "under its own name kubectl keeps the annotation, Argo CD has a name of its own",
}


def as_argocd_runs_it(warning: str) -> str:
    """Argo CD tells kubectl no name for itself."""
    return warning.replace("kubectl apply", " apply").replace("kubectl create", " create")


def records() -> Iterator[object]:
    path = CONFORMANCE / "apiserver_patch.jsonl"
    for line in path.read_text().splitlines() if path.exists() else ():
        record: Object = json.loads(line)
        name = text(record.get("id")).partition("/")[2]
        if name.startswith("csa-") and name not in OTHERWISE:
            yield pytest.param(record, id=name)


@needs_shared
@pytest.mark.parametrize("record", [*records()])
def test_as_recorded(record: Object) -> None:
    model = ApiServer()
    ground = KubectlClusterOps(model)
    for name in ("default", "kube-system", "ns1"):
        ground.create(a_namespace(name), Mode())
    for raw in items(record["steps"]):
        recorded, expected = fields(fields(raw)["request"]), fields(fields(raw)["response"])
        model.clock.advance(1)
        if recorded.get("verb") != "apply":
            model.send(request_of(recorded))
            continue
        args = [text(arg) for arg in items(recorded.get("args"))]
        if "--server-side" in args and "--force-conflicts" not in args:
            continue  # Argo CD always wins
        _check(ground, recorded, expected, args)


def _check(ground: KubectlClusterOps, request: Object, expected: Object, args: list[str]) -> None:
    body = fields(request["body"])
    obj: Object = {
        **body,
        "metadata": {**fields(body.get("metadata")), "namespace": text(request.get("namespace"))},
    }
    manager = next((arg.partition("=")[2] for arg in args if arg.startswith("--field-manager")), "")
    mode = Mode(
        server_side="--server-side" in args,
        force="--force" in args,
        manager=manager or "kubectl-client-side-apply",
    )
    message = outcome_of(lambda: ground.apply(obj, mode))
    assert message.startswith("refused: ") == bool(expected["exit"])
    if expected["exit"]:
        why = text(expected.get("stderr")).partition(" is invalid: ")[2]
        assert not differences(why, message.partition(" is invalid: ")[2], "why")
    else:
        assert message.partition(". ")[0] == text(expected["stdout"]).strip()
        assert message.partition(". ")[2] == as_argocd_runs_it(text(expected.get("stderr")))
    try:
        result: Object | None = ground.get(ref_of(obj))
    except Refused:
        result = None
    assert not differences(by_manager(expected.get("object")), by_manager(result), "object")


def by_manager(value: Json) -> Json:
    """Two writes within a second may swap places."""
    if not isinstance(value, dict):
        return value
    meta = fields(value.get("metadata"))
    rows = sorted(items(meta.get("managedFields")), key=lambda row: json.dumps(fields(row).get("manager")))
    return {**value, "metadata": {**meta, "managedFields": rows}}
