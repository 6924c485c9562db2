from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.json_tree import Json, Object, copy_object, fields, items
from whysync.kubernetes.api.yaml import dump
from whysync.reports.yaml_diff import TooLong, side_by_side, unified

POD: Object = {
    "metadata": {"name": "p", "managedFields": [{"manager": "m"}]},
    "spec": {
        "containers": [
            {
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "image": "web:1",
                "name": "web",
            },
            {"image": "proxy:1", "name": "proxy"},
        ],
        "nodeName": "n",
    },
}


def changed(**spec: Json) -> Object:
    body = copy_object(POD)
    fields(body["spec"]).update(spec)
    return body


def places(live: Object | None, predicted: Object | None) -> list[str]:
    return [text for mark, text in unified(live, predicted) if mark == "@"]


def test_equal_objects_have_no_lines() -> None:
    assert unified(POD, copy_object(POD)) == []
    assert side_by_side(POD, POD) == []


def test_the_place_is_the_field_that_holds_the_change() -> None:
    containers = [fields(container) for container in items(fields(POD["spec"])["containers"])]
    image = changed(containers=[{**containers[0], "image": "web:2"}, containers[1]])
    assert places(POD, image) == ["spec.containers"]
    assert places(POD, changed(nodeName="other")) == ["spec"]
    assert places(POD, None) == [""]


def test_records_of_the_server_are_not_shown() -> None:
    assert all("manager" not in text for _, text in unified(POD, None))


def test_both_ways_of_showing_say_the_same() -> None:
    other = changed(nodeName="other", hostNetwork=True)
    removed = [text for mark, text in unified(POD, other) if mark == "-"]
    new = [text for mark, text in unified(POD, other) if mark == "+"]
    beside = side_by_side(POD, other)
    assert [live for live, mark, _ in beside if mark in "<|"] == removed
    assert [predicted for _, mark, predicted in beside if mark in ">|"] == new


def test_what_is_very_long_is_not_compared_line_by_line() -> None:
    long: Object = {"data": {f"k{n}": "v" for n in range(25_000)}}
    with pytest.raises(TooLong):
        unified(long, {})


VALUES = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(0, 3), max_size=6)


@given(live=VALUES, predicted=VALUES)
def test_the_lines_lead_from_one_to_the_other(live: dict[str, int], predicted: dict[str, int]) -> None:
    old: Object = {"data": dict(live)}
    new: Object = {"data": dict(predicted)}
    lines = unified(old, new)
    removed = {text for mark, text in lines if mark == "-"}
    added = {text for mark, text in lines if mark == "+"}
    before, after = set(_lines(old)), set(_lines(new))
    assert before - after <= removed
    assert after - before <= added


def _lines(obj: Object) -> list[str]:
    data = fields(obj["data"])
    return dump({"data": {key: data[key] for key in sorted(data)}}).splitlines()
