"""Generators and templates of ApplicationSets."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from whysync.argocd.application_sets.errors import NotExpanded
from whysync.argocd.application_sets.expand import expanded
from whysync.argocd.application_sets.inputs import RegisteredCluster
from whysync.json_tree import Json, Object, dig, fields

URL = "https://git.example.org/team/shop.git"
CLUSTERS = [
    RegisteredCluster(name="eu_1", server="https://eu", labels={"env": "prod"}, annotations={"zone": "a"}),
    RegisteredCluster(name="us-1", server="https://us", labels={"env": "dev"}, project="team"),
]


class Inputs(msgspec.Struct):
    """The inputs of generators, in memory."""

    root: Path
    registered: list[RegisteredCluster] = msgspec.field(default_factory=lambda: list(CLUSTERS))
    answers: dict[str, list[list[Object]]] = msgspec.field(default_factory=dict[str, list[list[Object]]])

    def folder_of(self, options: Object) -> Path:
        if options.get("repoURL") != URL:
            raise NotExpanded("another repository")
        return self.root

    def clusters(self) -> list[RegisteredCluster]:
        return self.registered

    def recorded(self, application_set: str, kind: str, number: int) -> list[Object]:
        assert application_set == "set"
        return self.answers[kind][number]


def a_set(*generators: Json, name: str, path: str = "x", go: bool = False, **spec: Json) -> Object:
    application: Object = {
        "source": {"repoURL": URL, "path": path},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "n"},
    }
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "set", "namespace": "argocd"},
        "spec": {
            "goTemplate": go,
            "generators": [*generators],
            "template": {"metadata": {"name": name}, "spec": application},
            **spec,
        },
    }


def pairs(body: Object, inputs: Inputs) -> list[tuple[object, object]]:
    return [
        (dig(generated, "metadata", "name"), dig(generated, "spec", "source", "path"))
        for generated in expanded(body, inputs)
    ]


def names(body: Object, inputs: Inputs) -> list[object]:
    return [name for name, _ in pairs(body, inputs)]


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    for path in (
        "apps/Blog_1/a.yaml",
        "apps/shop/a.yaml",
        "apps/shop/deep/b.yaml",
        ".git/x/y",
        "apps/old/a.yaml",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("a: {b: 1}\n")
    (tmp_path / "env/eu").mkdir(parents=True)
    (tmp_path / "env/eu/config.json").write_text('{"cluster": {"name": "eu-1", "nodes": 2000000}}')
    (tmp_path / "env/us.json").write_text('[{"cluster": {"name": "us-1"}}, {"cluster": {"name": "us-2"}}]')
    (tmp_path / "empty.yaml").write_text("")
    return Inputs(tmp_path)


FOLDERS: Json = {
    "git": {"repoURL": URL, "directories": [{"path": "apps/*"}, {"path": "apps/old", "exclude": True}]}
}
LIST: Json = {"list": {"elements": [{"env": "dev", "n": "1"}, {"env": "prod", "n": "2"}]}}


def test_list(inputs: Inputs) -> None:
    assert pairs(a_set(LIST, name="shop-{{env}}", path="e/{{ n }}"), inputs) == [
        ("shop-dev", "e/1"),
        ("shop-prod", "e/2"),
    ]
    more: Json = {"list": {"elements": [], "elementsYaml": "- {env: x}\n- {env: z}\n"}}
    assert names(a_set(more, name="{{.env}}", go=True), inputs) == ["x", "z"]
    numbers: Json = {"list": {"elements": [{"n": 1}]}}
    assert names(a_set(numbers, name="a-{{.n}}", go=True), inputs) == ["a-1"]
    with pytest.raises(NotExpanded, match="error parsing value as string"):
        names(a_set(numbers, name="a-{{n}}"), inputs)


def test_directories(inputs: Inputs) -> None:
    plain = a_set(FOLDERS, name="{{path.basenameNormalized}}", path="{{path}}")
    assert pairs(plain, inputs) == [("blog-1", "apps/Blog_1"), ("shop", "apps/shop")]
    go = a_set(FOLDERS, name="{{index .path.segments 1 | normalize}}", path="{{.path.path}}", go=True)
    assert pairs(go, inputs) == pairs(plain, inputs)
    prefixed: Json = {
        "git": {"repoURL": URL, "pathParamPrefix": "my", "directories": [{"path": "apps/shop"}]}
    }
    assert names(a_set(prefixed, name="{{my.path.basename}}"), inputs) == ["shop"]
    assert names(a_set(prefixed, name="{{.my.path.basename}}", go=True), inputs) == ["shop"]
    # Go's path.Match: `**` does not match several folders.
    deep: Json = {"git": {"repoURL": URL, "directories": [{"path": "apps/**"}]}}
    assert "deep" not in names(a_set(deep, name="{{path.basenameNormalized}}"), inputs)


def test_files(inputs: Inputs) -> None:
    """`*` matches `/` too, as in `git ls-files`."""
    files: Json = {"git": {"repoURL": URL, "files": [{"path": "env/*.json"}]}}
    assert pairs(a_set(files, name="{{cluster.name}}", path="{{path}}"), inputs) == [
        ("eu-1", "env/eu"),
        ("us-1", "env"),
        ("us-2", "env"),
    ]
    go = a_set(files, name="{{ .cluster.name }}", path="{{.path.basename}}", go=True)
    assert names(go, inputs) == ["eu-1", "us-1", "us-2"]
    excluded: Json = {
        "git": {"repoURL": URL, "files": [{"path": "env"}, {"path": "env/us.json", "exclude": True}]}
    }
    assert names(a_set(excluded, name="{{cluster.name}}-{{cluster.nodes}}"), inputs) == ["eu-1-2e+06"]
    empty: Json = {"git": {"repoURL": URL, "files": [{"path": "empty.yaml"}]}}
    assert names(a_set(empty, name="{{path.filenameNormalized}}"), inputs) == ["empty.yaml"]


def test_values_see_the_parameters_but_not_each_other(inputs: Inputs) -> None:
    options = fields(fields(FOLDERS)["git"])
    generator: Json = {"git": {**options, "values": {"x": "{{path.basename}}-x", "y": "{{values.x}}"}}}
    assert names(a_set(generator, name="{{values.x}}"), inputs) == ["Blog_1-x", "shop-x"]
    with pytest.raises(NotExpanded, match=r"parameter for \{\{values\.x\}\}"):
        names(a_set(generator, name="{{values.y}}"), inputs)


def test_clusters(inputs: Inputs) -> None:
    plain = a_set({"clusters": {}}, name="{{nameNormalized}}", path="{{server}}")
    assert pairs(plain, inputs) == [
        ("eu-1", "https://eu"),
        ("us-1", "https://us"),
        ("in-cluster", "https://kubernetes.default.svc"),
    ]
    chosen: Json = {"clusters": {"selector": {"matchLabels": {"env": "prod"}}, "values": {"v": "{{name}}!"}}}
    assert names(a_set(chosen, name="{{metadata.labels.env}}-{{values.v}}"), inputs) == ["prod-eu_1!"]
    expression: Json = {"key": "env", "operator": "NotIn", "values": ["prod"]}
    other: Json = {"clusters": {"selector": {"matchExpressions": [expression]}}}
    go = a_set(other, name='{{ .project }}-{{ index .metadata.labels "env" }}', go=True)
    assert names(go, inputs) == ["team-dev"]
    flat: Json = {"clusters": {"flatList": True}}
    joined = "all{{ range .clusters }}-{{ .nameNormalized }}{{ end }}"
    assert names(a_set(flat, name=joined, go=True), inputs) == ["all-eu-1-us-1-in-cluster"]
    inputs.registered = [RegisteredCluster(name="here", server="https://kubernetes.default.svc")]
    assert names(plain, inputs) == ["here"]


def test_selectors_of_generators(inputs: Inputs) -> None:
    selector: Json = {"matchLabels": {"env": "prod"}}
    assert names(a_set({**fields(LIST), "selector": selector}, name="{{env}}"), inputs) == ["prod"]
    nested: Json = {"list": {"elements": [{"a": {"b": "x"}}, {"a": {"b": "y"}}]}}
    chosen: Object = {
        **fields(nested),
        "selector": {"matchExpressions": [{"key": "a.b", "operator": "In", "values": ["y"]}]},
    }
    assert names(a_set(chosen, name="{{.a.b}}", go=True), inputs) == ["y"]
    values: Json = {
        "clusters": {"values": {"size": "big"}},
        "selector": {"matchLabels": {"values.size": "big"}},
    }
    assert len(names(a_set(values, name="{{.nameNormalized}}", go=True), inputs)) == 3


def test_matrix(inputs: Inputs) -> None:
    matrix: Json = {"matrix": {"generators": [FOLDERS, LIST]}}
    plain = a_set(matrix, name="{{path.basenameNormalized}}-{{env}}")
    assert names(plain, inputs) == ["blog-1-dev", "blog-1-prod", "shop-dev", "shop-prod"]
    second: Json = {"git": {"repoURL": URL, "directories": [{"path": "apps/{{.dir}}"}]}}
    first: Json = {"list": {"elements": [{"dir": "shop", "path": {"basename": "mine"}}]}}
    dependent: Json = {"matrix": {"generators": [first, second]}}
    # The first generator wins, key by key.
    go = a_set(dependent, name="{{.path.basename}}", path="{{.path.path}}", go=True)
    assert pairs(go, inputs) == [("mine", "apps/shop")]
    same: Json = {"matrix": {"generators": [LIST, {"list": {"elements": [{"env": "x"}]}}]}}
    with pytest.raises(NotExpanded, match="found duplicate key env with different value"):
        names(a_set(same, name="{{env}}"), inputs)
    nested: Json = {"matrix": {"generators": [LIST, matrix]}}
    with pytest.raises(NotExpanded, match="duplicate key"):
        names(a_set(nested, name="{{env}}"), inputs)
    zones: Json = {"list": {"elements": [{"zone": "a"}]}}
    nested = {"matrix": {"generators": [zones, matrix]}}
    assert (
        names(a_set(nested, name="{{zone}}-{{path.basenameNormalized}}-{{env}}"), inputs)[0] == "a-blog-1-dev"
    )


def test_values_in_a_matrix_are_resolved_as_soon_as_they_can_be(inputs: Inputs) -> None:
    first: Json = {"list": {"elements": [{"team": "red"}]}}
    second: Json = {"clusters": {"values": {"t": "{{.team}}", "n": "{{.name}}"}}}
    matrix: Json = {"matrix": {"generators": [first, second]}}
    go = a_set(matrix, name="{{.values.t}}-{{.values.n}}", go=True, goTemplateOptions=["missingkey=error"])
    assert names(go, inputs) == ["red-eu_1", "red-us-1", "red-in-cluster"]


def test_merge(inputs: Inputs) -> None:
    over: Json = {"list": {"elements": [{"env": "prod", "n": "9"}, {"env": "else", "n": "7"}]}}
    merge: Json = {"merge": {"mergeKeys": ["env"], "generators": [LIST, over]}}
    assert names(a_set(merge, name="{{env}}-{{n}}"), inputs) == ["dev-1", "prod-9"]
    assert names(a_set(merge, name="{{.env}}-{{.n}}", go=True), inputs) == ["dev-1", "prod-9"]
    twice: Json = {"merge": {"mergeKeys": ["nope"], "generators": [LIST, over]}}
    with pytest.raises(NotExpanded, match="not unique by the given mergeKeys"):
        names(a_set(twice, name="{{env}}"), inputs)


def test_recorded_answers(inputs: Inputs) -> None:
    pull: Object = {"number": 12, "branch": "feat/A_b", "head_sha": "0123456789abcdef", "labels": ["x"]}
    inputs.answers = {
        "pullRequest": [[pull]],
        "scmProvider": [[{"repository": "api", "branch": "Main", "sha": "0123456789", "labels": ["a", "b"]}]],
        "plugin": [[{"a": {"b": 3}}]],
        "clusterDecisionResource": [[{"name": "eu_1", "score": 5}]],
    }
    generator: Json = {"pullRequest": {"github": {}, "values": {"v": "{{branch_slug}}"}}}
    name = "{{number}}-{{values.v}}-{{head_short_sha}}-{{head_short_sha_7}}"
    assert names(a_set(generator, name=name), inputs) == ["12-feat-a-b-01234567-0123456"]
    labels = a_set({"pullRequest": {}}, name="{{ index .labels 0 }}-{{ .number }}", go=True)
    assert names(labels, inputs) == ["x-12"]
    name = "{{repository}}-{{branchNormalized}}-{{short_sha}}-{{labels}}"
    assert names(a_set({"scmProvider": {}}, name=name), inputs) == ["api-main-01234567-a,b"]
    assert names(a_set({"plugin": {}}, name="p-{{a.b}}"), inputs) == ["p-3"]
    assert names(a_set({"plugin": {}}, name="p-{{.a.b}}", go=True), inputs) == ["p-3"]
    decision = a_set({"clusterDecisionResource": {}}, name="{{name}}-{{score}}", path="{{server}}")
    assert pairs(decision, inputs) == [("eu_1-5", "https://eu")]


def test_each_generator_of_a_kind_has_its_own_answer(inputs: Inputs) -> None:
    inputs.answers = {"plugin": [[{"a": "1"}], [{"a": "2"}]]}
    two = a_set({"plugin": {"x": "one"}}, {"plugin": {"x": "two"}}, name="{{a}}")
    assert names(two, inputs) == ["1", "2"]
    matrix: Json = {"matrix": {"generators": [LIST, {"plugin": {"x": "one"}}]}}
    assert names(a_set(matrix, name="{{env}}-{{a}}"), inputs) == ["dev-1", "prod-1"]
    dependent: Json = {"matrix": {"generators": [LIST, {"plugin": {"x": "{{env}}"}}]}}
    with pytest.raises(NotExpanded, match="depends on another generator"):
        names(a_set(dependent, name="{{env}}-{{a}}"), inputs)


def test_template_of_a_generator(inputs: Inputs) -> None:
    own: Json = {"spec": {"source": {"path": "own/{{env}}"}, "destination": {"namespace": ""}}}
    generator: Json = {"list": {**fields(fields(LIST)["list"]), "template": own}}
    (first, _) = expanded(a_set(generator, name="{{env}}", path="common"), inputs)
    assert dig(first, "spec", "source") == {"path": "own/dev", "repoURL": URL}
    assert dig(first, "spec", "destination", "namespace") == "n"


def test_template_patch(inputs: Inputs) -> None:
    patch = """\
metadata:
  finalizers: [mine]
spec:
  project: other
  source:
    helm: {valueFiles: ["{{ .env }}.yaml"]}
  {{- if eq .env "prod" }}
  syncPolicy: {automated: {prune: true}}
  {{- end }}
"""
    body = a_set(LIST, name="{{.env}}", go=True, templatePatch=patch)
    fields(fields(fields(body["spec"])["template"])["spec"])["project"] = "default"
    dev, prod = expanded(body, inputs)
    assert dig(dev, "spec", "source") == {"repoURL": URL, "path": "x", "helm": {"valueFiles": ["dev.yaml"]}}
    assert "syncPolicy" not in fields(dev["spec"])
    assert dig(prod, "spec", "syncPolicy") == {"automated": {"prune": True}}
    assert dig(dev, "spec", "project") == "default"
    assert dig(dev, "metadata", "finalizers") == ["resources-finalizer.argocd.argoproj.io", "mine"]
    empty = a_set(LIST, name="{{.env}}", go=True, templatePatch="{{ if eq .env `x` }}a: b{{ end }}")
    assert names(empty, inputs) == ["dev", "prod"]
    for wrong in ("[1]", "a: [", "spec: {$patch: delete}"):
        with pytest.raises(NotExpanded, match="templatePatch"):
            names(a_set(LIST, name="{{.env}}", go=True, templatePatch=wrong), inputs)


@pytest.mark.parametrize(
    ("policy", "expected"), [(None, True), ({"preserveResourcesOnDeletion": True}, False)]
)
def test_finalizer(inputs: Inputs, policy: Json, expected: bool) -> None:
    (first, *_) = expanded(a_set(LIST, name="{{env}}", syncPolicy=policy), inputs)
    assert ("finalizers" in fields(first["metadata"])) is expected


def test_keys_are_templates_too(inputs: Inputs) -> None:
    body = a_set(LIST, name="{{env}}")
    fields(fields(fields(body["spec"])["template"])["metadata"])["labels"] = {"env-{{env}}": "{{n}}"}
    (first, *_) = expanded(body, inputs)
    assert dig(first, "metadata", "labels") == {"env-dev": "1"}


@pytest.mark.parametrize(
    ("generator", "name", "go", "why"),
    [
        ({"git": {"repoURL": "https://elsewhere", "directories": [{"path": "*"}]}}, "x", False, "another"),
        ({"git": {"repoURL": URL}}, "x", False, "neither directories nor files"),
        (LIST, "{{nobody}}", False, r"no generator has a parameter for \{\{nobody\}\}"),
        (LIST, "same", False, "duplicate name: same"),
        (LIST, "{{.nobody.x}}", True, "duplicate name: <no value>"),
        (LIST, "{{ .env | nosuch }}", True, 'function "nosuch" not defined'),
        (LIST, "{{ .env", True, "unclosed action"),
        (LIST, "{{ if false }}x{{ end }}", True, "duplicate name"),
        (LIST, "{{ .env }}-{{ uuidv4 }}", True, "uuidv4, whose result is random"),
        ({"matrix": {"generators": [LIST]}}, "x", False, "exactly two generators, not 1"),
        ({"merge": {"generators": [LIST, LIST]}}, "x", False, "mergeKeys"),
        ({"matrix": {"generators": [LIST, {**fields(LIST), "clusters": {}}]}}, "x", False, "more than one"),
        ({"nonsense": {}}, "x", False, "no generator nonsense"),
        ("nonsense", "x", False, "no generator"),
    ],
)
def test_what_is_not_expanded(inputs: Inputs, generator: Json, name: str, go: bool, why: str) -> None:
    with pytest.raises(NotExpanded, match=why):
        names(a_set(generator, name=name, go=go), inputs)
