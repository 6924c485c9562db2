"""Values of a Helm source without Helm: their order, and parameters as values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.situations import application, case_of, config_map
from whysync.diagnosis.fix import Fix, Set
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.fixes.files import file_change, secret_lines
from whysync.fixes.helm_values import (
    Layer,
    ValueEdit,
    in_application,
    merged,
    opaque_names,
    parameter_values,
)
from whysync.fixes.kustomize_edits import reached_folders
from whysync.json_tree import MISSING, Json, Missing, Object, fields
from whysync.kubernetes.api.ref import Ref


def test_later_layers_override_earlier_ones() -> None:
    layers = [
        Layer({"image": {"repository": "shop", "tag": "1"}, "list": [1, 2]}, path="values.yaml"),
        Layer({"image": {"tag": "2"}, "list": [3]}, path="values-prod.yaml"),
        Layer({"image": {"tag": "3"}}, pointer="/spec/source/helm/parameters/0/value"),
    ]
    assert merged(layers) == {"image": {"repository": "shop", "tag": "3"}, "list": [3]}
    assert layers[0].values == {"image": {"repository": "shop", "tag": "1"}, "list": [1, 2]}, "unchanged"


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ({"name": "image.tag", "value": "1.2"}, {"image": {"tag": "1.2"}}),
        ({"name": "replicas", "value": "3"}, {"replicas": 3}),
        ({"name": "replicas", "value": "3", "forceString": True}, {"replicas": "3"}),
        ({"name": "on", "value": "true"}, {"on": True}),
        ({"name": "code", "value": "007"}, {"code": "007"}),
        (
            {"name": "notes.example\\.com/size", "value": "8m"},
            {"notes": {"example.com/size": "8m"}},
        ),
    ],
    ids=str,
)
def test_a_parameter_has_the_type_that_helm_gives_it(parameter: Object, values: Object) -> None:
    assert parameter_values(parameter) == values


@pytest.mark.parametrize(
    ("name", "value", "opaque"),
    [
        ("list[0]", "1", True),
        ("a\\\\.b", "1", True),
        ("", "1", True),
        ("a..b", "1", True),
        ("a", "{x,y}", True),
        ("a", "$ARGOCD_APP_NAME", True),
        ("a", "x\\,y", True),
        ("a\\.b.c", "1", False),
        ("image.tag", "1.2", False),
    ],
)
def test_parameters_that_are_not_simple_are_kept_as_they_are(name: str, value: str, opaque: bool) -> None:
    source: Object = {"helm": {"parameters": [{"name": name, "value": value}]}}
    assert opaque_names(source) == ([name] if opaque else [])


def test_file_parameters_are_not_traced() -> None:
    assert opaque_names({"helm": {"fileParameters": [{"name": "motd", "path": "motd.txt"}]}}) == ["motd"]


@pytest.mark.parametrize(
    ("pointer", "value", "field", "written"),
    [
        ("/spec/source/helm/parameters/1/value", MISSING, "/spec/source/helm/parameters/1", MISSING),
        ("/spec/source/helm/values", 3, "/spec/source/helm/values", "# top\na:\n  b: 3   # why\n"),
        ("/spec/source/helm/valuesObject", 3, "/spec/source/helm/valuesObject/a/b", 3),
        ("/spec/source/helm/parameters/1/value", 3, "/spec/source/helm/parameters/1/value", "3"),
        ("/spec/source/helm/parameters/1/value", True, "/spec/source/helm/parameters/1/value", "true"),
    ],
)
def test_the_field_of_the_application(
    pointer: str, value: Json | Missing, field: str, written: Json | Missing
) -> None:
    layer = Layer({"a": {"b": 1}}, pointer=pointer)
    target = in_application(ValueEdit(("a", "b"), value), layer, "# top\na:\n  b: 1   # why\n")
    assert (target.pointer, target.value, target.name) == (field, written, "a.b")


def test_a_text_of_values_that_cannot_be_edited_is_refused() -> None:
    layer = Layer({"a": {"b": 1}}, pointer="/spec/source/helm/values")
    with pytest.raises(Refused, match=r"a\.b cannot be changed in /spec/source/helm/values"):
        in_application(ValueEdit(("a", "b"), 2), layer, "x: &x {b: 1}\na: *x\n")


def test_an_edit_of_values() -> None:
    assert ValueEdit(("a", "b"), 1).on({"c": 2}) == {"a": {"b": 1}, "c": 2}
    assert ValueEdit(("a", "b"), MISSING).on({"a": {"b": 1}, "c": 2}) == {"a": {}, "c": 2}


@pytest.mark.parametrize("has_file", [True, False])
def test_a_chart_from_a_registry_is_not_traced(tmp_path: Path, *, has_file: bool) -> None:
    """The values file of the app is named if the checkout has it."""
    body = application()
    chart: Object = {"repoURL": "https://charts.example.com", "chart": "redis", "targetRevision": "1.2.3"}
    chart["helm"] = {"valueFiles": ["$values/redis/prod.yaml"]}
    reference: Object = {"repoURL": "https://git.example.com/values.git", "ref": "values"}
    spec = fields(body["spec"])
    spec.pop("source", None)
    spec["sources"] = [chart, reference]
    if has_file:
        (tmp_path / "redis").mkdir()
        (tmp_path / "redis/prod.yaml").write_text("a: 1\n")
    ref = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")
    case = case_of(body, config_map(desired=True))
    fix = Fix.change(ref, Set(pointer="/data/a", value="c"), title="t")
    with pytest.raises(Refused, match="from the chart redis, which is not in the checkout") as caught:
        file_change(fix, case, Checkout(str(tmp_path)))
    location = "redis/prod.yaml" if has_file else "the Helm values of Application argocd/shop"
    assert caught.value.next == f"set the chart's value for /data/a in {location}"


def test_passwords_in_values_are_secret_lines() -> None:
    assert secret_lines("image: a\ndb:\n  password: hunter2\n") == {2}


def test_bases_and_components_are_followed_once(tmp_path: Path) -> None:
    written = {
        "overlays/prod": "resources: [../../base, https://example.com/x]\ncomponents: [../../parts/tls]\n",
        "base": "resources: [../overlays/prod, web.yaml]\n",
        "parts/tls": "kind: Component\n",
    }
    for folder, content in written.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "kustomization.yaml").write_text(content)
    reached = reached_folders(Checkout(str(tmp_path)), "overlays/prod")
    assert {"overlays/prod", "base", "parts/tls"} <= reached
    assert "overlays/staging" not in reached
