"""Checks that are put into somebody's health script where it stops."""

from __future__ import annotations

import pytest

from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.queries.lua_guards import with_nil_checks


def queue(status: Object | None) -> Manifest:
    body: Object = {
        "apiVersion": "messaging.example.com/v1",
        "kind": "Queue",
        "metadata": {"name": "orders", "namespace": "shop"},
        "spec": {},
    }
    return Manifest({**body, "status": status} if status is not None else body, role=Role.LIVE)


PHASE = """\
hs = {status = "Progressing", message = ""}
if obj.status.phase == "Ready" then
  hs.status = "Healthy"
end
hs.message = obj.status.detail.text
return hs
"""
LOOP = """\
hs = {status = "Healthy", message = "fine"}
for _, condition in ipairs(obj.status.conditions) do
  if condition.status == "False" then
    hs.status = "Degraded"
  end
end
return hs
"""


def test_failing_lines_get_a_nil_check() -> None:
    guarded = with_nil_checks(PHASE, queue(None))
    assert guarded is not None
    script, verdict = guarded
    assert verdict.code == "Progressing"
    assert 'if obj.status ~= nil and obj.status.phase == "Ready" then' in script
    assert "if obj.status ~= nil then hs.message = obj.status.detail.text end" in script


def test_only_absent_fields_get_a_nil_check() -> None:
    guarded = with_nil_checks(PHASE, queue({"phase": "Ready"}))
    assert guarded is not None
    script, verdict = guarded
    assert verdict.code == "Healthy"
    assert script.splitlines()[1] == PHASE.splitlines()[1]
    assert "if obj.status.detail ~= nil then hs.message = obj.status.detail.text end" in script


@pytest.mark.parametrize("status", [None, {"phase": "Ready"}])
def test_a_loop_over_an_absent_list_does_not_run(status: Object | None) -> None:
    guarded = with_nil_checks(LOOP, queue(status))
    assert guarded is not None
    assert guarded[1].code == "Healthy"
    second = with_nil_checks(guarded[0], queue({"conditions": [{"status": "False"}]}))
    assert second is None, "it runs on other objects without another change"


def test_an_alternative_stays_one() -> None:
    script = """\
hs = {status = "Healthy"}
if obj.status.a == 1 or obj.status.b == 1 then
  hs.status = "Degraded"
end
return hs
"""
    guarded = with_nil_checks(script, queue(None))
    assert guarded is not None
    assert "if obj.status ~= nil and (obj.status.a == 1 or obj.status.b == 1) then" in guarded[0]


@pytest.mark.parametrize(
    "script",
    [
        "return {status = 'Healthy'}\n",  # nothing is wrong with it
        "return {status = obj.status.phase .. 'x'}\n",  # no line that can be with_nil_checks
        "this is no Lua\n",
        "",
        "while true do end\n",
        "error('on purpose')\n",
    ],
)
def test_what_cannot_be_mended_so_is_left_alone(script: str) -> None:
    assert with_nil_checks(script, queue(None)) is None
