"""Ignore rules for one field: elements of lists by key or value, and never a field that releases change."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Add
from whysync.json_tree import Json, Object, fields, items
from whysync.kubernetes.api.ref import Ref
from whysync.queries.ignore_rules import ignore_field, ignore_fields

REF = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="web")


def case_with(desired: Object, live: Object) -> Case:
    type: Object = {"apiVersion": "apps/v1", "kind": "Deployment"}
    mine: Object = {"name": "web", "namespace": "shop", "annotations": {"whysync.dev/role": "desired"}}
    return case_of(
        application(sync="OutOfSync", status={"resources": [row("Deployment", "web", "OutOfSync")]}),
        {**type, "metadata": mine, "spec": desired},
        {**type, "metadata": {"name": "web", "namespace": "shop"}, "spec": live},
    )


def paths(case: Case, pointer: str) -> list[Json]:
    edits = ignore_field(case, REF, pointer).edits
    rules = [fields(edit.value) for edit in edits if isinstance(edit, Add) and isinstance(edit.value, dict)]
    return [*items(rules[0].get("jqPathExpressions")), *items(rules[0].get("jsonPointers"))]


@pytest.mark.parametrize(
    ("elements", "condition"),
    [
        ([{"name": "a"}, {"name": "b"}], '.name == "b"'),
        ([{"containerPort": 80}, {"containerPort": 81}], ".containerPort == 81"),
        (["x", "y"], '. == "y"'),
        (
            [{"name": "a"}, {"name": "web-dockercfg-gl9vz"}],
            '.name | test("^web-dockercfg-[a-z0-9]{5}$")',
        ),
        (
            [{"name": "web-dockercfg-x2x2x"}, {"name": "web-dockercfg-gl9vz"}],
            '.name == "web-dockercfg-gl9vz"',
        ),
        ([{"name": "a"}, {"name": "web-proxy"}], '.name == "web-proxy"'),  # a word, not a suffix
        ([{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}], '.metadata.name == "b"'),
    ],
)
def test_an_element_of_a_list_is_selected_by_its_key_or_value(elements: list[Json], condition: str) -> None:
    case = case_with({"list": elements[:1]}, {"list": elements})
    assert paths(case, "/spec/list/1") == [f".spec.list[] | select({condition})"]


def test_an_element_without_a_key_is_named_by_its_place() -> None:
    case = case_with({"list": []}, {"list": [{"weight": 1}, {"weight": 1}]})
    assert paths(case, "/spec/list/1") == ["/spec/list/1"]


@pytest.mark.parametrize(
    ("pointer", "offered"),
    [
        ("/spec/template/spec/containers/0/image", False),
        ("/spec/template/spec/containers/0/env", False),
        ("/spec/template/spec/nodeSelector", False),
        ("/spec/template/spec/containers/1", True),
        ("/spec/replicas", True),
    ],
)
def test_a_field_that_releases_change_is_never_ignored(pointer: str, *, offered: bool) -> None:
    web: Object = {"name": "web", "image": "web:1", "env": []}
    proxy: Object = {"name": "proxy", "image": "proxy:1"}

    def spec(*containers: Json) -> Object:
        return {"replicas": 1, "template": {"spec": {"nodeSelector": {}, "containers": list(containers)}}}

    case = case_with(spec(web), spec(web, proxy))
    assert bool(ignore_fields(case, REF, pointer)) == offered
