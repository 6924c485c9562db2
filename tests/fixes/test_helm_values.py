"""Values of a Helm source without Helm: their order, and parameters as values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.situations import application, case_of, config_map
from whysync.diagnosis.fix import Fix, Set
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.fixes.files import file_change, secret_lines
from whysync.fixes.helm_values import InApplication, Layer, ValueEdit, merged, parameter_values
from whysync.fixes.kustomize_edits import reached_folders
from whysync.json_tree import MISSING, Json, Object, fields
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
    ],
    ids=str,
)
def test_a_parameter_has_the_type_that_helm_gives_it(parameter: Object, values: Object) -> None:
    assert parameter_values(parameter) == values


@pytest.mark.parametrize("name", ["list[0]", "a\\\\.b", "", "a..b"])
def test_a_parameter_that_is_not_a_simple_name_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="is not a simple value"):
        parameter_values({"name": name, "value": "1"})


@pytest.mark.parametrize(
    ("pointer", "value", "field", "written"),
    [
        ("/spec/source/helm/valuesObject", 3, "/spec/source/helm/valuesObject/a/b", 3),
        ("/spec/source/helm/parameters/1/value", 3, "/spec/source/helm/parameters/1/value", "3"),
        ("/spec/source/helm/parameters/1/value", True, "/spec/source/helm/parameters/1/value", "true"),
    ],
)
def test_the_field_of_the_application(pointer: str, value: Json, field: str, written: Json) -> None:
    target = InApplication(ValueEdit(("a", "b"), value), Layer({}, pointer=pointer))
    assert (target.pointer, target.value, target.is_text) == (field, written, False)


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
