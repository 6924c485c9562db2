"""The groups h to z: their examples, Argo CD's own vectors, and objects that somebody has mangled."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.argocd.health.shipped.h_z_examples import EXAMPLES, Example, condition, with_conditions
from tests.shared import CONFORMANCE, needs_shared
from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import judge, shipped_check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object, copy_object, fields, text


def _judged(group: str, obj: Object) -> HealthVerdict:
    check = shipped_check(group, str(obj.get("kind")))
    assert check is not None, group
    return judge(check, obj)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.situation)
def test_an_example_gets_argo_cds_verdict(example: Example) -> None:
    verdict = _judged(example.group, example.obj)
    assert verdict.code == example.code
    if example.message is not None:
        assert verdict.message == example.message


@needs_shared
def test_all_vectors_agree() -> None:
    lines = (CONFORMANCE / "health.jsonl").read_text("utf-8").splitlines()
    records = [
        record for record in map(fields, map(json.loads, lines)) if "h" <= _group_of(record)[:1] <= "z"
    ]
    assert len(records) > 350
    for record in records:
        verdict = _judged(_group_of(record), fields(record["object"]))
        assert verdict.code == record["status"], record["id"]
        assert record["message"] in (None, verdict.message), record["id"]


def _group_of(record: Object) -> str:
    """Empty for the vectors of other makers, such as the checks that are written in Go."""
    source, _, rest = text(record.get("id")).partition("/")
    return rest.partition("/")[0] if source == "resource_customizations" else ""


@pytest.mark.parametrize(
    "kind", ["Binding", "Exchange", "Permission", "Policy", "Queue", "Shovel", "User", "Vhost"]
)
def test_rabbitmq_names_what_failed(kind: str) -> None:
    obj = with_conditions(kind, condition("Ready", "False", reason="FailedCreateOrUpdate"))
    verdict = _judged("rabbitmq.com", obj)
    assert verdict == HealthVerdict(
        HealthCode.DEGRADED, f"RabbitMQ {kind.lower()} failed to be created or updated"
    )


_odd: st.SearchStrategy[Json] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["True", "False", "Unknown", "Ready", "Failed", "ERROR, x", "1/2"]),
    st.builds(list[Json]),
    st.builds(dict[str, Json]),
    st.builds(lambda: [None, {}, 1, "x"]),
)


@settings(max_examples=300, deadline=None)
@given(example=st.sampled_from(EXAMPLES), data=st.data())
def test_a_mangled_example_never_raises(example: Example, data: st.DataObject) -> None:
    obj = copy_object(example.obj)
    for _ in range(data.draw(st.integers(1, 3))):
        places = list(_places(obj))
        holder, key = data.draw(st.sampled_from(places)) if places else (obj, "status")
        if data.draw(st.booleans()):
            _put(holder, key, data.draw(_odd))
        else:
            _drop(holder, key)
    check = shipped_check(example.group, example.kind)
    assert check is not None
    before = repr(obj)
    verdict = judge(check, obj)
    assert isinstance(verdict.message, str)
    assert repr(obj) == before


def _places(value: Json) -> Iterator[tuple[Json, str | int]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield value, key
            yield from _places(item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield value, index
            yield from _places(item)


def _put(holder: Json, key: str | int, value: Json) -> None:
    if isinstance(holder, dict):
        holder[str(key)] = value
    elif isinstance(holder, list):
        holder[int(key)] = value


def _drop(holder: Json, key: str | int) -> None:
    if isinstance(holder, dict):
        holder.pop(str(key), None)
    elif isinstance(holder, list):
        holder.pop(int(key))
