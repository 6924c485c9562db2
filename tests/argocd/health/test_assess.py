"""Who judges an object, in Argo CD's order."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.assess import assess, health_of, verdict_of
from whysync.argocd.health.verdict import CannotJudge, HealthVerdict
from whysync.argocd.scripts.lua import Failed, Returned
from whysync.argocd.settings import ResourceOverride
from whysync.json_tree import Object

DELETED = "2026-01-02T03:04:05Z"


@dataclass
class Told:
    """A runner that answers what it was told to, and remembers the scripts."""

    answer: Returned | Failed
    scripts: list[str] = field(default_factory=list[str])

    def run(
        self, script: str, obj: Object, *, open_libs: bool, now: float | None = None
    ) -> Returned | Failed:
        assert obj
        self.scripts.append(f"{script} {open_libs} {now}")
        return self.answer


def says(status: str, message: str = "") -> Told:
    return Told(Returned(type="table", fields=(("message", message), ("status", status))))


def thing(api_version: str, kind: str, **metadata: str | list[str]) -> Object:
    meta: Object = {"name": "x", "namespace": "shop"}
    for key, value in metadata.items():
        meta[key] = [*value] if isinstance(value, list) else value
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}


def test_what_is_being_deleted_is_progressing() -> None:
    assert health_of(thing("v1", "ConfigMap", deletionTimestamp=DELETED)) == HealthVerdict(
        HealthCode.PROGRESSING, "Pending deletion"
    )


def test_a_hook_that_waits_for_its_finalizer_is_judged_as_ever() -> None:
    hook = thing(
        "batch/v1", "Job", deletionTimestamp=DELETED, finalizers=["argocd.argoproj.io/hook-finalizer"]
    )
    assert health_of(hook) == HealthVerdict(HealthCode.PROGRESSING)


@pytest.mark.parametrize("stamp", ["", "soon", "2026-01-02"])
def test_a_deletion_time_that_is_none_does_not_count(stamp: str) -> None:
    assert health_of(thing("v1", "ConfigMap", deletionTimestamp=stamp)) is None


def test_a_script_comes_before_the_built_in_check() -> None:
    lua = says("Suspended", "as told")
    overrides = {"Pod": ResourceOverride(health_lua="mine", use_open_libs=True)}
    assessed = assess(thing("v1", "Pod"), overrides, lua=lua, now=7)
    assert assessed is not None
    assert assessed.verdict == HealthVerdict(HealthCode.SUSPENDED, "as told")
    assert lua.scripts == ["mine True 7"]


@pytest.mark.parametrize(
    ("api_version", "kind", "script"),
    [
        ("a.example.io/v1", "Thing", "exact"),
        ("a.example.io/v1", "Other", "glob"),
        ("b.example.io/v1", "Other", "glob"),
    ],
)
def test_the_exact_key_wins_over_globs(api_version: str, kind: str, script: str) -> None:
    lua = says("Healthy")
    overrides = {
        "*.example.io/*": ResourceOverride(health_lua="glob"),
        "a.example.io/Thing": ResourceOverride(health_lua="exact"),
        "*/*": ResourceOverride(),
    }
    assess(thing(api_version, kind), overrides, lua=lua)
    assert lua.scripts == [f"{script} False None"]


def test_overrides_without_a_script_leave_the_judgement_to_others() -> None:
    assert health_of(thing("v1", "Service"), {"*/*": ResourceOverride()}) == HealthVerdict(HealthCode.HEALTHY)


def test_a_script_that_fails_makes_it_unknown_and_is_reported() -> None:
    overrides = {"Pod": ResourceOverride(health_lua="x")}
    assessment = assess(thing("v1", "Pod"), overrides, lua=Told(Failed(message="<string>:1: boom")))
    assert assessment is not None
    assert assessment.verdict == HealthVerdict(HealthCode.UNKNOWN, "<string>:1: boom")
    assert assessment.error == "failed to get resource health for shop/x: <string>:1: boom"


def test_a_built_in_check_that_fails_is_reported_too() -> None:
    assessment = assess(thing("v2", "Pod"))
    assert assessment is not None
    assert assessment.error == "unsupported Pod GVK: /v2, Kind=Pod"


def test_shipped_checks_are_found() -> None:
    obj = thing("cert-manager.io/v1", "Certificate")
    health = health_of(obj)
    assert health is not None
    assert health.code is HealthCode.PROGRESSING


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Returned(type="nil"), HealthVerdict(None)),
        (Returned(type="array"), HealthVerdict(None)),
        (Returned(type="table"), HealthVerdict(HealthCode.UNKNOWN, "Lua returned an invalid health status")),
        (
            Returned(type="table", fields=(("status", "Fine"),)),
            HealthVerdict(HealthCode.UNKNOWN, "Lua returned an invalid health status"),
        ),
        (Returned(type="table", fields=(("message", None), ("status", "Healthy"))), HealthVerdict(None)),
        (
            Returned(type="table", fields=(("Status", "Degraded"), ("status", "Healthy"))),
            HealthVerdict(HealthCode.HEALTHY),
        ),
    ],
)
def test_what_an_answer_means(result: Returned, expected: HealthVerdict) -> None:
    assert verdict_of(result) == expected


def test_an_answer_of_another_type_is_an_error() -> None:
    with pytest.raises(CannotJudge, match="expect table output from Lua script, not number"):
        verdict_of(Returned(type="number"))


def test_a_real_script_runs() -> None:
    script = "return {status = 'Degraded', message = obj.metadata.name .. ' is bad'}"
    overrides = {"Pod": ResourceOverride(health_lua=script)}
    assert health_of(thing("v1", "Pod"), overrides) == HealthVerdict(HealthCode.DEGRADED, "x is bad")
