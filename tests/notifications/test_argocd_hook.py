"""The hook that Argo CD's notifications call, and the template in the docs that calls it."""

from __future__ import annotations

import json
import re

import pytest

from tests.situations import ROOT
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api import yaml
from whysync.notifications.argocd_hook import MOST_BYTES, HookRequest, HookStatus, handle

SECRET = "a-long-secret"
GOOD = b'{"app": "shop", "namespace": "argocd", "revision": "abc", "extra": {"a": 1}}'


def test_a_notification_names_the_app_to_look_at() -> None:
    result = handle(GOOD, f"Bearer {SECRET}", SECRET)
    assert result.code == 202
    assert result.request == HookRequest(app="shop", namespace="argocd")


@pytest.mark.parametrize("given", ["", SECRET, "Bearer", "Bearer ", "Bearer wrong", f"bearer {SECRET}", "é"])
def test_a_wrong_secret_is_refused_before_the_body_is_read(given: str) -> None:
    result = handle(b"not json", given, SECRET)
    assert (result.status, result.code, result.request) == (HookStatus.UNAUTHORIZED, 401, None)
    assert SECRET not in result.text


def test_without_a_configured_secret_nobody_may_call_it() -> None:
    for given in ("", "Bearer ", "Bearer x"):
        assert handle(GOOD, given, "").code == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"namespace": "argocd"}',
        b'{"app": ""}',
        b'{"app": "../../etc"}',
        b'{"app": "a b"}',
        b'{"app": "Shop\\n"}',
        b'{"app": 7}',
        b'{"app": "shop", "namespace": "a/b"}',
        b'{"app": "\xff"}',
        json.dumps({"app": "a" * 300}).encode(),
    ],
)
def test_an_invalid_body_is_refused(body: bytes) -> None:
    assert handle(body, f"Bearer {SECRET}", SECRET).code == 400


def test_a_large_body_is_refused() -> None:
    assert handle(b" " * (MOST_BYTES + 1), f"Bearer {SECRET}", SECRET).code == 413


class TestTemplate:
    """`docs/examples/argocd-notifications-cm.yaml`."""

    settings = fields(
        fields(yaml.load((ROOT / "docs/examples/argocd-notifications-cm.yaml").read_text()))["data"]
    )

    def test_the_body_of_the_template_is_accepted(self) -> None:
        template = fields(yaml.load(text(self.settings["template.whysync"])))
        webhook = fields(fields(template["webhook"])["whysync"])
        assert webhook["method"] == "POST"
        assert webhook["path"] == "/api/v1/hooks/argocd"
        values = {".app.metadata.name": "shop", ".app.metadata.namespace": "argocd"}
        body = re.sub(r"\{\{\s*(\S+)\s*\}\}", lambda match: values.get(match[1], "x"), text(webhook["body"]))
        assert handle(body.encode(), f"Bearer {SECRET}", SECRET).request == HookRequest(
            app="shop", namespace="argocd"
        )

    def test_the_service_sends_the_secret_as_a_bearer_token(self) -> None:
        service = fields(yaml.load(text(self.settings["service.webhook.whysync"])))
        headers = {fields(header)["name"]: fields(header)["value"] for header in items(service["headers"])}
        assert headers["Authorization"] == "Bearer $whysync-hook-secret"

    def test_the_triggers_send_the_template_and_the_subscription_uses_them(self) -> None:
        triggers = [name for name in self.settings if name.startswith("trigger.")]
        assert triggers
        for name in triggers:
            for rule in items(yaml.load(text(self.settings[name]))):
                assert items(fields(rule)["send"]) == ["whysync"]
                assert fields(rule)["when"]
        (subscription,) = items(yaml.load(text(self.settings["subscriptions"])))
        assert fields(subscription)["recipients"] == ["whysync"]
        assert [f"trigger.{name}" for name in items(fields(subscription)["triggers"])] == triggers
