"""Secrets that no server takes: the plan knows it though their values are masked."""

from __future__ import annotations

from pathlib import Path

from tests.plan.shop import DEPLOYMENT, SECRET, Shop
from tests.plan.test_plan import only_app, planned_changes
from whysync.json_tree import Object
from whysync.plan.secrets import with_shape

_BROKEN = "apiVersion: v1\nkind: Secret\nmetadata: {name: old-token}\ndata: {token: 'hunter2-is-secret!'}\n"


def test_on_the_base_as_on_an_empty_cluster(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"secret.yaml": SECRET})
    shop.put("secret.yaml", _BROKEN)
    app = only_app(planned_changes(shop))
    assert [run.passed for run in app.runs] == [False, False]
    assert all("illegal base64 data at input byte 7" in run.message for run in app.runs)
    assert "hunter2" not in repr(app)


def test_values_that_are_fine_stay_masked() -> None:
    masked: Object = {"kind": "Secret", "data": {"a": "<masked 1>", "b": "<masked 2>"}}
    plain: Object = {"kind": "Secret", "data": {"a": "aGk=", "b": "s3cret!"}}
    assert with_shape(masked, plain) == {"kind": "Secret", "data": {"a": "<masked 1>", "b": "AAAAAA!"}}
    assert with_shape(masked, {"kind": "ConfigMap", "data": {"b": "s3cret!"}}) is masked
    assert with_shape(masked, {"kind": "Secret", "data": {"b": 5}}) is masked


def test_pull_secrets_and_names_of_keys_are_no_failure_where_values_are_masked(tmp_path: Path) -> None:
    """The type of a pull secret requires JSON, and `secretKey` is the name of a key."""
    pull = """\
apiVersion: v1
kind: Secret
metadata: {name: registry}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths": {}}'}
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: shop}
spec: {data: [{secretKey: SHOP_ENCRYPTION_KEY, remoteRef: {key: shop-key}}]}
"""
    env = "env: [{name: KEY, valueFrom: {secretKeyRef: {name: shop, key: SHOP_ENCRYPTION_KEY}}}], "
    shop = Shop(tmp_path / "shop", base={"secret.yaml": pull})
    shop.put("secret.yaml", pull.replace('{"auths": {}}', '{"auths": {"ghcr.io": {}}}'))
    shop.put("deployment.yaml", DEPLOYMENT.replace("ports:", f"{env}ports:"))
    app = only_app(planned_changes(shop))
    assert [run.message for run in app.runs] == ["", ""]
