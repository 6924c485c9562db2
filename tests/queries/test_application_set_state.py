"""Which Applications of a rolling sync wait, and for what."""

from __future__ import annotations

import pytest

from whysync.json_tree import Json, Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.queries.application_set_state import Member, generators_of, members_of

DEV: Object = {"matchExpressions": [{"key": "env", "operator": "In", "values": ["dev"]}]}
PROD: Object = {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["dev", "lab"]}]}


def app(name: str, env: str = "", *, owner: str = "web") -> Manifest:
    labels: Json = {"env": env} if env else {}
    owners: Json = [{"kind": "ApplicationSet", "name": owner}]
    meta: Object = {"name": name, "namespace": "argocd", "labels": labels, "ownerReferences": owners}
    return Manifest({"kind": "Application", "metadata": meta}, role=Role.APPLICATION)


def rolling(statuses: dict[str, tuple[str, str]], *steps: Object) -> Manifest:
    """`statuses` has the status and the step of each Application."""
    entries: list[Json] = [
        {"application": name, "status": status, "step": step} for name, (status, step) in statuses.items()
    ]
    body: Object = {
        "kind": "ApplicationSet",
        "metadata": {"name": "web", "namespace": "argocd"},
        "spec": {"strategy": {"type": "RollingSync", "rollingSync": {"steps": [*steps]}}},
        "status": {"applicationStatus": entries},
    }
    return Manifest(body, role=Role.LIVE)


def members(application_set: Manifest, *apps: Manifest) -> dict[str, Member]:
    return {member.name: member for member in members_of(application_set, apps)[0]}


def test_a_later_step_waits_for_an_earlier_one() -> None:
    statuses = {"dev": ("Progressing", "1"), "eu": ("Waiting", "2"), "us": ("Healthy", "2")}
    known = members(rolling(statuses, DEV, PROD), app("dev", "dev"), app("eu", "prod"), app("us", "prod"))
    assert [known[name].step for name in ("dev", "eu", "us")] == [1, 2, 2]
    assert known["eu"].waits == "step 1 is not finished: dev (Progressing)"
    assert (known["dev"].waits, known["us"].waits) == ("", "")


@pytest.mark.parametrize(
    ("limit", "waits"),
    [
        (1, "at most 1 of step 1 at once, and a is not finished"),
        ("40%", "at most 1 of step 1 at once, and a is not finished"),
        ("1%", "at most 1 of step 1 at once, and a is not finished"),
        ("70%", "the ApplicationSet controller starts it next"),
        (0, "maxUpdate of step 1 is 0: sync it yourself"),
        ("0%", "maxUpdate of step 1 is 0: sync it yourself"),
        (None, "the ApplicationSet controller starts it next"),
        ("many", "the ApplicationSet controller starts it next"),
    ],
)
def test_the_limit_of_a_step(limit: Json, waits: str) -> None:
    statuses = {"a": ("Pending", "1"), "b": ("Waiting", "1"), "c": ("Healthy", "1")}
    step: Object = {**PROD, "maxUpdate": limit}
    known = members(rolling(statuses, step), app("a", "x"), app("b", "x"), app("c", "x"))
    assert known["b"].waits == waits
    assert known["a"].waits == "its sync is requested and has not begun"


def test_an_app_that_no_step_selects_is_never_synced() -> None:
    statuses = {"lab": ("Waiting", "-1"), "dev": ("Healthy", "1")}
    known = members(rolling(statuses, DEV), app("lab", "lab"), app("dev", "dev"))
    assert (known["lab"].step, known["lab"].waits) == (-1, "no step selects it, so the set never syncs it")


def test_a_missing_label_is_in_no_set_of_values() -> None:
    """`NotIn` selects it, `In` does not; an unknown operator selects nothing."""
    exists: Object = {"matchExpressions": [{"key": "env", "operator": "Exists"}]}
    known = members(rolling({}, DEV, exists, PROD), app("bare"), app("dev", "dev"))
    assert (known["bare"].step, known["dev"].step) == (3, 1)


def test_apps_that_are_not_in_the_facts_have_the_recorded_step() -> None:
    """One app was read alone: the status of the set says what it waits for."""
    statuses = {"dev": ("Waiting", "1"), "eu": ("Waiting", "2")}
    known = members(rolling(statuses, DEV, PROD), app("eu", "prod"), app("other", "dev", owner="shop"))
    assert known["eu"].waits == "step 1 is not finished: dev (Waiting)"
    assert "other" not in known


def test_generators_in_words() -> None:
    generators: list[Json] = [
        {"clusters": {"selector": {"matchLabels": {"env": "prod"}}}},
        {"matrix": {"generators": [{"list": {"elements": [{}, {}]}},
                                   {"git": {"repoURL": "https://x/y", "directories": [{"path": "a/*"}]}}]}},
        {"pullRequest": {}},
        {},
    ]  # fmt: skip
    application_set = Manifest({"spec": {"generators": generators}}, role=Role.LIVE)
    assert generators_of(application_set) == (
        "clusters with env=prod",
        "matrix of (list of 2 elements; git directories a/* of https://x/y at HEAD)",
        "pullRequest",
        "(empty)",
    )
