"""A value of a generated Application is changed where its ApplicationSet gets it from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.situations import application, case_of
from whysync.diagnosis.case import Case
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.fixes.files import FileChange
from whysync.fixes.helm_values import InApplication
from whysync.fixes.set_edits import set_change
from whysync.json_tree import MISSING, Json, Missing, Object, fields

SOURCE = """\
        repoURL: https://git.example.com/shop.git
        path: chart
        helm:
          parameters:
          - {name: size, value: 'x{{ .size }}'}
          - name: level
            value: warn   # for all
"""
HEAD = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shops, namespace: argocd}
spec:
  goTemplate: true
  generators:
"""
TEMPLATE = f"""\
  template:
    metadata: {{name: 'shop-{{{{ .name }}}}'}}
    spec:
      project: default
      destination: {{server: https://kubernetes.default.svc, namespace: shop}}
      source:
{SOURCE}"""
LIST = """\
  - list:
      elements:
      - {name: eu, size: "2"}   # small
      - name: us
        size: "3"
"""
FILES = """\
  - git:
      repoURL: https://git.example.com/shop.git
      files: [{path: regions/*.yaml}]
"""
SIZE = "/spec/source/helm/parameters/0/value"
LEVEL = "/spec/source/helm/parameters/1/value"


def generated(name: str, size: str) -> Object:
    body = application(f"shop-{name}")
    owner: Object = {"kind": "ApplicationSet", "name": "shops"}
    fields(body["metadata"])["ownerReferences"] = [owner]
    parameters: list[Json] = [{"name": "size", "value": f"x{size}"}, {"name": "level", "value": "warn"}]
    fields(body["spec"])["source"] = {
        "repoURL": "https://git.example.com/shop.git",
        "path": "chart",
        "helm": {"parameters": parameters},
    }
    return body


def the_case() -> Case:
    return case_of(generated("eu", "2"), generated("us", "3"))


def changed(
    folder: Path, text: str, *, pointer: str = SIZE, value: Json | Missing = "x5", case: Case | None = None
) -> FileChange:
    (folder / "set.yaml").write_text(text)
    setting = InApplication("size" if pointer == SIZE else "level", pointer, value)
    return set_change("shops", setting, case or the_case(), Checkout(str(folder)))


def test_an_element_of_a_list(tmp_path: Path) -> None:
    change = changed(tmp_path, HEAD + LIST + TEMPLATE)
    assert change.after == (HEAD + LIST + TEMPLATE).replace('"2"', '"5"')
    assert change.place.endswith("elements.0.size in set.yaml:9 (generator of ApplicationSet shops)")
    assert change.check == "expanded again: only size of Application argocd/shop-eu changes"


def test_a_file_that_a_git_generator_reads(tmp_path: Path) -> None:
    (tmp_path / "regions").mkdir()
    (tmp_path / "regions/eu.yaml").write_text("name: eu\nsize: 2   # small\n")
    (tmp_path / "regions/us.yaml").write_text("name: us\nsize: 3\n")
    change = changed(tmp_path, HEAD + FILES + TEMPLATE)
    assert (change.path, change.after) == ("regions/eu.yaml", "name: eu\nsize: 5   # small\n")
    assert change.place.startswith("set size in regions/eu.yaml:2 ")


@pytest.mark.parametrize("value", ["debug", MISSING], ids=["set", "removed"])
def test_what_the_template_sets_changes_for_all_of_its_applications(
    tmp_path: Path, value: Json | Missing
) -> None:
    pointer = LEVEL if not isinstance(value, Missing) else LEVEL.removesuffix("/value")
    if isinstance(value, Missing):
        with pytest.raises(Refused, match=r"ApplicationSet shops sets level \(set.yaml:23\): remove level"):
            changed(tmp_path, HEAD + LIST + TEMPLATE, pointer=pointer, value=value)
        return
    change = changed(tmp_path, HEAD + LIST + TEMPLATE, pointer=pointer, value=value)
    assert change.after == (HEAD + LIST + TEMPLATE).replace("warn   #", "debug   #")
    assert change.place == "set level in set.yaml:24 (template of ApplicationSet shops)"
    assert change.check == "the template also generates argocd/shop-us: it changes for all of them"


def test_a_value_that_is_used_twice_is_refused(tmp_path: Path) -> None:
    text = (HEAD + LIST + TEMPLATE).replace("path: chart", "path: 'chart-{{ .size }}'")
    body = generated("eu", "2")
    fields(fields(body["spec"])["source"])["path"] = "chart-2"
    with pytest.raises(Refused) as caught:
        changed(tmp_path, text, case=case_of(body, generated("us", "3")))
    assert caught.value.what == "ApplicationSet shops sets size (set.yaml:22): set size to x5 there"
    assert caught.value.why == "no value of a generator changes only this field of this Application"


@pytest.mark.parametrize(
    ("generators", "why"),
    [
        ("  - clusters: {}\n", "the set cannot be expanded here: it has a cluster generator"),
        ("  - pullRequest: {github: {}}\n", "its pullRequest generator asks a server"),
        ("  - list: {elements: [{name: ap, size: '1'}]}\n", "generates another Application"),
    ],
)
def test_a_set_that_cannot_be_expanded_is_refused_with_the_line(
    tmp_path: Path, generators: str, why: str
) -> None:
    with pytest.raises(Refused) as caught:
        changed(tmp_path, HEAD + generators + TEMPLATE)
    assert why in caught.value.why
    assert "set.yaml:" in caught.value.what


def test_a_checkout_without_the_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        changed(tmp_path, "a: b\n")
    assert caught.value.why == "the checkout does not contain the ApplicationSet"
    (tmp_path / "copy.yaml").write_text(HEAD + LIST + TEMPLATE)
    with pytest.raises(Refused, match="change its template or generator") as caught:
        changed(tmp_path, HEAD + LIST + TEMPLATE)
    assert caught.value.why.startswith("the checkout contains it 2 times (copy.yaml:1, set.yaml:1)")
