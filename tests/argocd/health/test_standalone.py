from __future__ import annotations

import pytest

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.assess import StandaloneAssessor, standalone_health
from whysync.argocd.settings import ResourceOverride
from whysync.json_tree import Json, Object

POD: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": "Succeeded"}}
CERTIFICATE: Object = {"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "c"}}


def leaving(obj: Object) -> Object:
    meta: Json = {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]}
    return {**obj, "metadata": meta}


@pytest.mark.parametrize(
    ("obj", "code", "by"),
    [
        (POD, HealthCode.HEALTHY, StandaloneAssessor.BUILTIN),
        (CERTIFICATE, HealthCode.PROGRESSING, StandaloneAssessor.SHIPPED),
        (leaving(POD), HealthCode.PROGRESSING, StandaloneAssessor.DELETION),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, None, StandaloneAssessor.NONE),
        ({}, None, StandaloneAssessor.NONE),
    ],
)
def test_the_first_check_that_there_is_judges(
    obj: Object, code: HealthCode | None, by: StandaloneAssessor
) -> None:
    health = standalone_health(obj, {})
    assert (health.verdict.code if health.verdict else None, health.by) == (code, by)


def test_ones_own_lua_comes_before_the_built_in_check() -> None:
    own = {"Pod": ResourceOverride(health_lua='return {status = "Suspended", message = "mine"}')}
    health = standalone_health(POD, own)
    assert health.verdict is not None
    assert (health.verdict.code, health.verdict.message, health.by) == (
        HealthCode.SUSPENDED,
        "mine",
        StandaloneAssessor.SETTINGS,
    )
