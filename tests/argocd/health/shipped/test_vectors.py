"""Argo CD's own answers for the kinds that it judges with Lua."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.shared import CONFORMANCE, needs_shared
from whysync.argocd.health.shipped import judge, shipped_check
from whysync.json_tree import Object, fields, text


def _vectors() -> Iterator[Object]:
    file = CONFORMANCE / "health.jsonl"
    for line in file.read_text("utf-8").splitlines() if file.is_file() else ():
        record = fields(json.loads(line))
        if text(record.get("id")).startswith("resource_customizations/"):
            yield record


@needs_shared
@pytest.mark.parametrize("record", list(_vectors()), ids=lambda record: text(fields(record).get("id")))
def test_the_same_verdict_as_argo_cd(record: Object) -> None:
    obj = fields(record["object"])
    group = text(obj.get("apiVersion")).rpartition("/")[0]
    check = shipped_check(group, text(obj.get("kind")))
    assert check is not None
    verdict = judge(check, obj)
    assert verdict.code == record["status"]
    if record["message"] is not None:
        assert verdict.message == record["message"]
