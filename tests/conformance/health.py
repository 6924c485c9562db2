"""health.jsonl: how healthy Argo CD finds an object, and what it says of it.

A record under `resource_customizations/` comes from a test that runs the shipped script alone, so its
counterpart is asked here. In a whole judgement, an object that is being deleted never gets that far.
"""

from __future__ import annotations

from tests.conformance.checks import mismatch
from whysync.argocd.health.assess import health_of
from whysync.argocd.health.shipped import judge, shipped_check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object, fields, text
from whysync.kubernetes.api.ref import ref_of


def check_status(record: Object) -> list[str]:
    if not text(record.get("status")):
        return ["the record claims no status"]
    verdict = _verdict(record)
    code = None if verdict is None else verdict.code
    return mismatch("status", record.get("status"), None if code is None else str(code))


def check_message(record: Object) -> list[str] | None:
    if record.get("message") is None:
        return None
    verdict = _verdict(record)
    return mismatch("message", record["message"], None if verdict is None else verdict.message)


def _verdict(record: Object) -> HealthVerdict | None:
    obj = fields(record.get("object"))
    if text(record.get("id")).startswith("resource_customizations/"):
        check = shipped_check(ref_of(obj).group, ref_of(obj).kind)
        return None if check is None else judge(check, obj)
    return health_of(obj)
