"""Whatever stands in the files: an answer, the same each time, and never a crash."""

from __future__ import annotations

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whysync.json_tree import Json, Object
from whysync.kubernetes.api.yaml import dump
from whysync.lint.check_tree import check_tree, lint_rules
from whysync.lint.outcome import Outcome
from whysync.manifests.configuration import Configuration, matches
from whysync.manifests.files import File
from whysync.manifests.read_files import Reader, tree_of
from whysync.manifests.schemas.violation import as_pointer
from whysync.reports import lint_json, lint_markdown, lint_text
from whysync.reports.annotations import github, gitlab, junit, sarif
from whysync.reports.annotations.lint_rows import lint_rows
from whysync.reports.terminal import Terminal

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=8),
    st.floats(allow_nan=False, allow_infinity=False),
)
KEYS = st.sampled_from(
    [
        "spec", "metadata", "name", "namespace", "annotations", "labels", "template", "containers", "image",
        "selector", "matchLabels", "replicas", "data", "ports", "rules", "http", "paths", "source", "sources",
        "destination", "syncPolicy", "automated", "syncOptions", "ignoreDifferences", "jsonPointers", "kind",
        "syncWindows", "schedule", "duration", "argocd.argoproj.io/hook", "argocd.argoproj.io/sync-wave",
        "volumes", "env", "valueFrom", "configMapKeyRef", "scaleTargetRef", "versions", "schema", "items",
        "openAPIV3Schema", "whysync.dev/ignore", "metrics", "resources", "volumeClaimTemplates", "roles",
    ]
)  # fmt: skip
TREES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(
    [
        ("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "Secret"), ("batch/v1", "Job"), ("v1", "List"),
        ("networking.k8s.io/v1", "Ingress"), ("autoscaling/v2", "HorizontalPodAutoscaler"), ("v1", "Pod"),
        ("argoproj.io/v1alpha1", "Application"), ("argoproj.io/v1alpha1", "AppProject"),
        ("argoproj.io/v1alpha1", "ApplicationSet"), ("kustomize.config.k8s.io/v1beta1", "Kustomization"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("example.com/v1", "Widget"),
        ("policy/v1", "PodDisruptionBudget"), ("v1", "PersistentVolumeClaim"), ("v1", "ConfigMap"),
    ]
)  # fmt: skip


@st.composite
def objects(draw: st.DrawFn) -> Object:
    api_version, kind = draw(KINDS)
    body: Object = {"apiVersion": api_version, "kind": kind}
    for key in draw(st.lists(st.sampled_from(["metadata", "spec", "data", "items", "status"]), unique=True)):
        body[key] = draw(TREES)
    return body


def looked_at(texts: dict[str, str]) -> Outcome:
    reader = Reader(Configuration())
    files: list[File] = [reader.read(name, text.encode("utf-8", "replace")) for name, text in texts.items()]
    return check_tree(tree_of(files, Configuration()), lint_rules(), reader.notes)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=150)
@given(st.lists(objects(), max_size=4))
def test_objects_of_any_shape_get_an_answer(bodies: list[Object]) -> None:
    texts = {f"app/{number}.yaml": dump(body) for number, body in enumerate(bodies)}
    outcome = looked_at(texts)
    assert not [note for note in outcome.notes if note.matters], outcome.notes
    assert outcome == looked_at(texts)
    for finding in outcome.findings:
        assert 1 <= finding.line <= texts[finding.path].count("\n") + 1


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet=st.sampled_from("ab:{}[]\n -#&*!|>'\"%@`,?\t") | st.sampled_from(string.printable)))
def test_text_of_any_kind_gets_an_answer(written: str) -> None:
    outcome = looked_at({"a.yaml": f"apiVersion: v1\nkind: ConfigMap\n{written}"})
    assert not [note for note in outcome.notes if note.matters]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=50)
@given(st.lists(objects(), max_size=3), st.text(max_size=20))
def test_every_form_shows_any_outcome(bodies: list[Object], odd: str) -> None:
    outcome = looked_at({f"{odd.replace('/', '')}.yaml": "---\n".join(map(dump, bodies))})
    lint_text.render(outcome, Terminal(), wide=True)
    lint_json.render(outcome)
    rows = lint_rows(outcome)
    sarif.render(rows, lint_rules(), outcome.notes)
    gitlab.render(rows)
    assert len(github.render(rows).splitlines()) == len(outcome.findings)
    assert len(lint_markdown.render(outcome)) <= lint_markdown.LONGEST
    import xml.dom.minidom

    xml.dom.minidom.parseString(junit.render("whysync lint", rows).encode())


@given(st.text(max_size=12), st.text(max_size=12))
def test_globs_never_crash_and_names_match_themselves(pattern: str, path: str) -> None:
    matches(pattern, path)
    assert matches(path, path)


@given(TREES, st.text(alphabet="abc.[]0/", max_size=20))
def test_paths_of_the_api_server_become_pointers(body: Json, path: str) -> None:
    pointer = as_pointer(body, path)
    assert not pointer or pointer.startswith("/")


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("spec.ports[0].name", "/spec/ports/0/name"),
        ("metadata.annotations[example.com/a.b]", "/metadata/annotations/example.com~1a.b"),
        ("spec.template.spec.containers[1].env[2]", "/spec/template/spec/containers/1/env/2"),
        ("", ""),
    ],
)
def test_a_path_names_the_same_field_as_its_pointer(path: str, pointer: str) -> None:
    body: Json = {"metadata": {"annotations": {"example.com/a.b": "x"}}, "spec": {"ports": [{}]}}
    assert as_pointer(body, path) == pointer


def test_a_bomb_and_deep_nesting_are_clear_answers() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    deep = "spec: " + "[" * 2_000 + "]" * 2_000
    for text in (bomb, deep):
        outcome = looked_at({"a.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{text}\n"})
        assert [finding.rule for finding in outcome.findings] == ["manifest_yaml_invalid"]
