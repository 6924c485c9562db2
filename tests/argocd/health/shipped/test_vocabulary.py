"""The words, one at a time; the tables made of them are held against Argo CD's own answers elsewhere."""

from __future__ import annotations

import pytest

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped.lua import LuaError
from whysync.argocd.health.shipped.vocabulary import (
    Step,
    all_of,
    any_of,
    by,
    condition_is,
    conditions,
    degraded,
    each,
    either,
    healthy,
    in_order,
    inside,
    message,
    not_,
    nothing,
    path,
    progressing,
    true_or_false,
    verdict,
    when,
)
from whysync.argocd.health.shipped.vocabulary import test as compiled
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

HEALTHY, DEGRADED, PROGRESSING = HealthCode.HEALTHY, HealthCode.DEGRADED, HealthCode.PROGRESSING
BROKEN = HealthVerdict(HealthCode.UNKNOWN, "Lua returned an invalid health status")
EMPTY = HealthVerdict(None)


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("Healthy", "fine", HealthVerdict(HEALTHY, "fine")),
        ("Healthy", None, HealthVerdict(HEALTHY)),
        ("Healthy", 3, EMPTY),
        ("Healthy", {}, EMPTY),
        (None, None, EMPTY),
        (None, "fine", BROKEN),
        ("", "fine", BROKEN),
        ("healthy", "fine", BROKEN),
        (3, "fine", EMPTY),
    ],
)
def test_what_argo_cd_makes_of_an_answer(code: Json, text: Json, expected: HealthVerdict) -> None:
    assert verdict(code, text) == expected


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        (".status.phase", "Running"),
        (".status.absent", None),
        (".absent?.phase", None),
        (".absent?.phase|none", "none"),
        (".status.count|3", 0),
        (".status.absent|3", 3),
        (".status.no|yes", "yes"),
        (".status.absent|", ""),
        ("reason", "Because"),
        (".metadata.labels?['example.com/state']", "good"),
        (".metadata.annotations?['example.com/state']", None),
    ],
)
def test_paths(route: str, expected: Json) -> None:
    obj: Object = {
        "status": {"phase": "Running", "count": 0, "no": False},
        "metadata": {"labels": {"example.com/state": "good"}},
    }
    assert path(route)(obj, {"reason": "Because"}) == expected


def test_a_path_trips_where_the_script_did_not_look() -> None:
    with pytest.raises(LuaError, match="key 'phase'"):
        path(".status.phase")({}, None)
    with pytest.raises(LuaError, match="key 'reason'"):
        path("reason")({}, None)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("", ""),
        ("plain", "plain"),
        ("{message}", None),
        ("{message|nothing said}", "nothing said"),
        ("{.status.ready}/{.status.all} ready", "1/2 ready"),
        ("state: {.status.state}", "state: up"),
    ],
)
def test_messages(template: str, expected: Json) -> None:
    obj: Object = {"status": {"ready": 1, "all": 2.0, "state": "up"}}
    assert message(template)(obj, {}) == expected


def test_a_hole_in_a_longer_message_is_an_error() -> None:
    with pytest.raises(LuaError, match="between string and nil"):
        message("state: {.status.state}")({"status": {}}, None)


def test_either_takes_the_first_that_is_there() -> None:
    result = either("{message}", "{reason}")
    assert result({}, {"message": "", "reason": "r"}) == ""
    assert result({}, {"reason": "r"}) == "r"
    assert result({}, {}) is None


OBJECT: Object = {
    "metadata": {"generation": 2},
    "status": {"seen": 2, "old": 1, "on": True, "off": False, "zero": 0, "list": [1], "none": [], "map": {}},
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (".status.seen in (1, 2)", True),
        (".status.on == 1", False),
        (".status.on in (1, 2)", False),
        (".status.on == true", True),
        (".status.zero == false", False),
        (".status.absent ~= 0", True),
        (".status.zero ~= 0", False),
        (".status.absent == nil", True),
        (".status.off == nil", False),
        (".status.off ~= nil", True),
        (".status.off", False),
        (".status.zero", True),
        (".status.seen == .metadata.generation", True),
        (".status.old == .metadata.generation", False),
        (".status.absent == .metadata.absent", True),
        (".status.old < .metadata.generation", True),
        ("2 < .metadata.generation", False),
        (".metadata.generation >= 2", True),
        ("some(.status.list)", True),
        ("some(.status.none)", False),
        ("some(.status.map)", False),
        ("some(.status.absent)", False),
        ("empty(.status.map)", True),
        ("empty(.status.list)", False),
        (".status.on and .status.off", False),
        (".status.on or .status.off", True),
        (".status.on or .status.off and .status.off", True),
        ("(.status.on or .status.off) and .status.off", False),
        ("not .status.off", True),
        ("not .status.seen == 1", True),
        ("not (.status.on or .status.off)", False),
        (".metadata.labels?['example.com/state'] == 'good'", False),
    ],
)
def test_tests(expression: str, expected: bool) -> None:
    assert compiled(expression)(OBJECT, None) is expected


def test_a_test_with_a_rest_is_refused() -> None:
    with pytest.raises(ValueError, match="unexpected"):
        compiled(".status.on .status.off")


def test_functions_and_expressions_combine() -> None:
    assert all_of(".status.on", not_(".status.off"))(OBJECT, None)
    assert any_of(".status.off", lambda _obj, _item: True)(OBJECT, None)


def test_the_first_step_that_decides_wins() -> None:
    check = in_order(
        when(".status.on and .status.off", degraded("both")),
        by(".status.seen", {"2": degraded("text")}),
        when(".status.on", healthy("on")),
        progressing("never asked"),
    )
    assert check(OBJECT) == HealthVerdict(HEALTHY, "on")
    assert in_order()(OBJECT) is None
    assert nothing(OBJECT) == EMPTY


def test_by_takes_other_for_whatever_is_not_in_the_table() -> None:
    check = by(".status?.phase", {"Up": healthy()}, other=degraded("{.status?.phase}"))
    assert check({"status": {"phase": "Up"}}) == HealthVerdict(HEALTHY)
    assert check({"status": {"phase": "Down"}}) == HealthVerdict(DEGRADED, "Down")
    assert check({"status": {"phase": ["Up"]}}) == EMPTY  # upstream's answer to a message that is no text
    assert check({}) == HealthVerdict(DEGRADED)
    assert by(".status?.phase", {"Up": healthy()})({}) is None


READY_OR_FAILED: Step = conditions(
    condition_is("Failed", "True", degraded("{message}")), condition_is("Ready", "True", healthy("{message}"))
)


def test_the_order_of_conditions_goes_before_the_order_of_steps() -> None:
    ready: Object = {"type": "Ready", "status": "True", "message": "r"}
    failed: Object = {"type": "Failed", "status": "True", "message": "f"}
    assert READY_OR_FAILED({"status": {"conditions": [ready, failed]}}) == HealthVerdict(HEALTHY, "r")
    assert READY_OR_FAILED({"status": {"conditions": [failed, ready]}}) == HealthVerdict(DEGRADED, "f")
    assert READY_OR_FAILED({"status": {"conditions": []}}) is None
    assert READY_OR_FAILED({}) is None


def test_each_may_insist_and_may_walk_named_fields() -> None:
    step = condition_is("Ready", "True", healthy())
    obj: Object = {"status": {"racks": {"a": {"type": "Ready", "status": "True"}}}}
    assert each(".status.racks", step)(obj) is None
    assert each(".status.racks", step, keyed=True)(obj) == HealthVerdict(HEALTHY)
    with pytest.raises(LuaError, match="ipairs"):
        each(".status.absent", step, required=True)(obj)


def test_says_may_ask_for_a_reason_and_leave_the_status_open() -> None:
    step = conditions(condition_is("Ready", None, degraded("{status}"), reason="Broken"))
    condition: Object = {"type": "Ready", "status": "False", "reason": "Broken"}
    assert step({"status": {"conditions": [condition]}}) == HealthVerdict(DEGRADED, "False")
    assert step({"status": {"conditions": [condition | {"reason": "Other"}]}}) is None


def test_inside_moves_the_thing_at_hand() -> None:
    assert inside(".status", when("seen == 2", healthy()))(OBJECT) == HealthVerdict(HEALTHY)


@pytest.mark.parametrize(
    ("status", "expected"),
    [("True", HealthVerdict(HEALTHY, "m")), ("False", HealthVerdict(DEGRADED, "m")), ("Unknown", None)],
)
def test_true_or_false(status: str, expected: HealthVerdict | None) -> None:
    condition: Object = {"type": "Ready", "status": status, "message": "m"}
    assert true_or_false("Ready")({"status": {"conditions": [condition]}}) == expected
