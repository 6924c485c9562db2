"""The parts of rendering that need no tool: variables, patterns, detection, values files, editing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.argocd.repo_server.render.conftest import MakeTree, config_map, names, rendered
from whysync.argocd.repo_server.render import CannotRender, RefSource, RenderOptions, RenderProblem
from whysync.argocd.repo_server.render.detect import detected_type, source_type, with_overrides
from whysync.argocd.repo_server.render.environment import build_environment, substituted
from whysync.argocd.repo_server.render.helm import escaped, inline_values
from whysync.argocd.repo_server.render.kustomize import (
    EditFailed,
    as_kustomize_error,
    check_reach,
    edited,
    split_image,
)
from whysync.argocd.repo_server.render.options import with_settings
from whysync.argocd.repo_server.render.tools import CommandFailed, home, kube_version
from whysync.argocd.repo_server.render.values_files import ValuesFiles, check_refs, expanded
from whysync.golang.glob import BadPattern
from whysync.json_tree import Json, Object

NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("$NAME-x", "shop-x"),
        ("${NAME}x", "shopx"),
        ("$$NAME", "$NAME"),
        ("$NOPE", ""),
        ("${NOPE}", ""),
        ("a$", "a$"),
        ("$ x", "$ x"),
        ("${}x", "x"),
        ("${NAME", "NAME"),
        ("$.x", "$.x"),
        ("no", "no"),
    ],
)
def test_variables(text: str, after: str) -> None:
    assert substituted(text, {"NAME": "shop"}) == after


@given(st.text(alphabet="${}ab*_ 1", max_size=30))
def test_any_text_is_substituted(text: str) -> None:
    substituted(text, {"a": "x"})


def test_the_build_environment() -> None:
    env = build_environment(
        app_name="a", namespace="n", project="p", commit="0123456789", repo="r", path="x", target_revision="t"
    )
    assert env["ARGOCD_APP_REVISION_SHORT"] == "0123456"
    assert env["ARGOCD_APP_REVISION_SHORT_8"] == "01234567"
    assert len(env) == 9


def test_patterns_of_values_files(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml", "x/a.yaml", "x/y/z.yaml", "c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    def found(pattern: str) -> list[str]:
        return [str(Path(item).relative_to(tmp_path)) for item in expanded(f"{tmp_path}/{pattern}", tmp_path)]

    assert found("*.yaml") == ["a.yaml", "b.yaml"]
    assert found("**/*.yaml") == ["a.yaml", "b.yaml", "x/a.yaml", "x/y/z.yaml"]
    assert found("x/**") == ["x", "x/a.yaml", "x/y", "x/y/z.yaml"]
    assert found("[ab].yaml") == ["a.yaml", "b.yaml"]
    assert found("*/a.yaml") == ["x/a.yaml"]
    assert expanded("/etc/*", tmp_path) == []
    with pytest.raises(BadPattern):
        found("[a")


def test_the_tool_is_found_by_files(tree_of: MakeTree) -> None:
    for name, kind in (
        ("Chart.yaml", "Helm"),
        ("myChart.yaml", "Helm"),
        ("kustomization.yaml", "Kustomize"),
        ("kustomization.yml", "Kustomize"),
        ("Kustomization", "Kustomize"),
        ("kustomize.yaml", "Directory"),
        ("sub/Chart.yaml", "Directory"),
    ):
        assert detected_type(tree_of({name: ""}).root) == kind
    both = tree_of({"Chart.yaml": "", "kustomization.yaml": ""}).root
    assert detected_type(both) == "Kustomize"
    assert detected_type(both, frozenset({"Kustomize"})) == "Helm"
    assert detected_type(both, frozenset({"Kustomize", "Helm"})) == "Directory"


def test_the_tool_is_told(tree_of: MakeTree) -> None:
    root = tree_of({"Chart.yaml": ""}).root
    assert source_type({"directory": {}}, root, NONE) == "Directory"
    assert source_type({"kustomize": {}}, root, frozenset({"Kustomize"})) == "Directory"
    with pytest.raises(RenderProblem, match="multiple application sources defined: Kustomize,Helm"):
        source_type({"helm": {}, "kustomize": {}}, root, NONE)


def test_files_beside_the_manifests_override_the_source(tree_of: MakeTree) -> None:
    tree = tree_of(
        {
            "app/.argocd-source.yaml": "path: elsewhere\nhelm: {parameters: [{name: a, value: '1'}]}\n",
            "app/.argocd-source-shop.yaml": "helm: {releaseName: mine}\n",
            "app/.argocd-source-other.yaml": "helm: {releaseName: theirs}\n",
        }
    )
    source: Object = {"path": "app", "repoURL": "r", "helm": {"releaseName": "old", "skipCrds": True}}
    assert with_overrides(source, tree.root / "app", tree.root, "shop") == {
        "path": "app",
        "repoURL": "r",
        "helm": {"releaseName": "mine", "skipCrds": True, "parameters": [{"name": "a", "value": "1"}]},
    }
    broken = tree_of({".argocd-source.yaml": "a: [\n"})
    with pytest.raises(RenderProblem, match="error while parsing source parameters"):
        with_overrides(source, broken.root, broken.root, "shop")


def test_an_override_changes_what_is_rendered(tree_of: MakeTree) -> None:
    tree = tree_of(
        {
            "app/a.yaml": config_map("a"),
            "app/sub/b.yaml": config_map("b"),
            "app/.argocd-source-shop.yaml": "directory: {recurse: true}\n",
        }
    )
    assert names(rendered(tree)) == ["a", "b"]


def files_in(tree_of: MakeTree, **refs: RefSource) -> ValuesFiles:
    names = ("chart/values.yaml", "chart/a.yaml", "chart/b.yaml", "env/prod.yaml")
    tree = tree_of({**dict.fromkeys(names, ""), "chart/link.yaml": "-> ../env/prod.yaml"})
    options = RenderOptions(refs={f"${name}": ref for name, ref in refs.items()})
    return ValuesFiles(tree.root / "chart", tree.root, {"ENV": "prod"}, options)


def shown(files: ValuesFiles, *paths: str, ignore: bool = False) -> list[str]:
    result = files.all(list(paths), ignore_missing=ignore)
    return [item.replace(f"{files.root}/", "") for item in result]


def test_values_files(tree_of: MakeTree) -> None:
    files = files_in(tree_of)
    assert shown(files, "a.yaml", "../env/$ENV.yaml", "/env/prod.yaml") == ["chart/a.yaml", "env/prod.yaml"]
    assert shown(files, "nope.yaml", "a.yaml", ignore=True) == ["chart/a.yaml"]
    assert shown(files, "nope.yaml") == ["chart/nope.yaml"]  # Helm will say it
    assert shown(files, "?.yaml", "a.yaml") == ["chart/b.yaml", "chart/a.yaml"]
    assert shown(files, "x*.yaml", "a.yaml", ignore=True) == ["chart/a.yaml"]
    assert shown(files, "link.yaml") == ["env/prod.yaml"]
    assert shown(files, "https://example.org/v.yaml") == ["https://example.org/v.yaml"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("../../etc/passwd", "file '../../etc/passwd' resolved to outside repository root"),
        ("/../../etc/passwd", "file '/../../etc/passwd' resolved to outside repository root"),
        ("secrets://x", "the URL scheme 'secrets' is not allowed"),
        ("..", "internal error: failed to resolve path. Check logs for more details"),
        ("a\0b", "internal error: failed to resolve path. Check logs for more details"),
    ],
)
def test_values_files_that_are_refused(tree_of: MakeTree, file: str, text: str) -> None:
    with pytest.raises(RenderProblem) as problem:
        files_in(tree_of).all([file], ignore_missing=False)
    assert problem.value.text == f"error resolving value file path: {text}"


def test_a_pattern_without_a_match(tree_of: MakeTree) -> None:
    with pytest.raises(RenderProblem) as problem:
        files_in(tree_of).all(["x*.yaml"], ignore_missing=False)
    assert problem.value.text == 'values file glob "x*.yaml" matched no files'


def test_values_of_another_source(tree_of: MakeTree) -> None:
    other = tree_of({"prod/v.yaml": ""})
    files = files_in(tree_of, vals=RefSource(repo="https://example.org/v", tree=other))
    assert files.all(["$vals/$ENV/v.yaml"], ignore_missing=False) == [f"{other.root}/prod/v.yaml"]
    assert files.file_parameter("$vals/prod/v.yaml") == f"{other.root}/prod/v.yaml"
    with pytest.raises(RenderProblem, match="resolved to outside repository root"):
        files.all(["$vals/../../x"], ignore_missing=False)


def test_refs_that_nobody_defines() -> None:
    def refused(refs: dict[str, RefSource]) -> str:
        with pytest.raises(RenderProblem) as problem:
            check_refs(["a.yaml", "$v/b.yaml"], refs, has_multiple_sources=True)
        return problem.value.text

    assert refused({}) == "source referenced \"$v\", but no source has a 'ref' field defined"
    assert "not one of the available sources ($w, $x)" in refused(
        {"$x": RefSource(repo="r"), "$w": RefSource(repo="r")}
    )
    assert "Helm charts are not yet not supported" in refused({"$v": RefSource(repo="r", chart="c")})
    check_refs(["$v/b.yaml"], {}, has_multiple_sources=False)


@pytest.mark.parametrize(
    ("value", "after"), [("a,b", r"a\,b"), (r"a\,b", r"a\,b"), ("{a,b}", "{a,b}"), ("a", "a"), (",", r"\,")]
)
def test_commas_of_parameters(value: str, after: str) -> None:
    assert escaped(value) == after


def test_inline_values() -> None:
    assert inline_values({"values": "a: 1\n"}) == "a: 1\n"
    assert inline_values({"values": "a: 1\n", "valuesObject": {"b": 2}}) == '{"b":2}'
    assert inline_values({}) == ""


@pytest.mark.parametrize(
    ("written", "version"),
    [("v1.31.4-eks-1", "1.31.4"), ("1.30", "1.30"), ("", ""), ("1.30.2+k3s1", "1.30.2")],
)
def test_versions_of_kubernetes(written: str, version: str) -> None:
    assert kube_version(written) == version


@pytest.mark.parametrize("written", ["abc", "1", "1.08"])
def test_what_is_no_version(written: str) -> None:
    with pytest.raises(RenderProblem, match=rf"^could not parse kubernetes version {re.escape(written)}: "):
        kube_version(written)


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("nginx", ("nginx", "", "")),
        ("nginx:1", ("nginx", "1", "")),
        ("r:5000/a/b", ("r:5000/a/b", "", "")),
        ("r:5000/a/b:2@sha256:ff", ("r:5000/a/b", "2", "sha256:ff")),
    ],
)
def test_images(image: str, parts: tuple[str, str, str]) -> None:
    assert split_image(image) == parts


def edit(before: Object, wishes: Object) -> Object:
    return edited(before, wishes, {"NAME": "shop"}, exists=lambda path: "missing" not in path)


@pytest.mark.parametrize(
    ("before", "wishes", "after"),
    [
        ({}, {"namePrefix": "a-", "nameSuffix": "-b"}, {"namePrefix": "a-", "nameSuffix": "-b"}),
        ({"namespace": "x"}, {"namespace": "y"}, {"namespace": "y"}),
        (
            {"images": [{"name": "b", "newTag": "1", "newName": "c"}]},
            {"images": ["b=*:$NAME", "a@sha256:1"]},
            {
                "images": [
                    {"name": "a", "digest": "sha256:1"},
                    {"name": "b", "newName": "c", "newTag": "shop"},
                ]
            },
        ),
        (
            {"replicas": [{"name": "db", "count": 1}]},
            {"replicas": [{"name": "web", "count": "3"}]},
            {"replicas": [{"name": "db", "count": 1}, {"name": "web", "count": 3}]},
        ),
        ({}, {"commonLabels": {"a": "$NAME"}}, {"commonLabels": {"a": "shop"}}),
        (
            {"commonLabels": {"a": "x"}},
            {"commonLabels": {"a": "y"}, "forceCommonLabels": True},
            {"commonLabels": {"a": "y"}},
        ),
        (
            {},
            {"commonLabels": {"a": "x"}, "labelWithoutSelector": True, "labelIncludeTemplates": True},
            {"labels": [{"includeTemplates": True, "pairs": {"a": "x"}}]},
        ),
        ({}, {"commonAnnotations": {"a": "$NAME"}}, {"commonAnnotations": {"a": "$NAME"}}),
        (
            {},
            {"commonAnnotations": {"a": "$NAME"}, "commonAnnotationsEnvsubst": True},
            {"commonAnnotations": {"a": "shop"}},
        ),
        (
            {"patches": [{"path": "p"}]},
            {"patches": [{"patch": "q"}]},
            {"patches": [{"path": "p"}, {"patch": "q"}]},
        ),
        ({"components": ["a"]}, {"components": ["a", "b"]}, {"components": ["a", "b"]}),
        (
            {},
            {"components": ["missing", "b"], "ignoreMissingComponents": True},
            {"components": ["b"]},
        ),
    ],
)
def test_kustomizations_are_edited(before: Object, wishes: Object, after: Object) -> None:
    original: Json = dict(before)
    assert edit(before, wishes) == after
    assert before == original


@pytest.mark.parametrize(
    ("before", "wishes", "why"),
    [
        (
            {"commonLabels": {"a": "x"}},
            {"commonLabels": {"a": "y"}},
            "Error: label a already in kustomization file. Use --force to override.",
        ),
        ({}, {"images": ["nginx"]}, "Error: invalid format of image"),
        (
            {},
            {"commonLabels": {"a": "y"}, "labelIncludeTemplates": True},
            "Error: --without-selector flag must",
        ),
        ({}, {"components": ["missing"]}, "Error: missing has no match"),
    ],
)
def test_edits_that_fail(before: Object, wishes: Object, why: str) -> None:
    with pytest.raises(EditFailed) as failed:
        edit(before, wishes)
    assert failed.value.why.startswith(why)


def test_replicas_that_are_no_number() -> None:
    with pytest.raises(RenderProblem, match=r"expected integer value for count\. Received: many"):
        edit({}, {"replicas": [{"name": "a", "count": "many"}]})


@pytest.mark.parametrize(
    "kustomization",
    [
        "resources: [../../outside]\n",
        "resources: [/etc]\n",
        "resources: [x.y/../../../../etc]\n",
        "configMapGenerator: [{name: a, files: [k=/etc/passwd]}]\n",
        "configMapGenerator: [{name: a, files: [../../../etc/passwd]}]\n",
        "secretGenerator: [{name: a, envs: [../../x.env]}]\n",
        "patches: [{path: ../../../p.yaml}]\n",
        "generators: [gen.yaml]\n",
        "resources: [../base]\n",
    ],
)
def test_kustomizations_stay_in_their_repository(tree_of: MakeTree, kustomization: str) -> None:
    tree = tree_of(
        {
            "app/kustomization.yaml": kustomization,
            "app/gen.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nfiles: [/etc/passwd]\n",
            "base/kustomization.yaml": "resources: [../app, ../../up]\n",
        }
    )
    with pytest.raises(
        RenderProblem, match=r"^security; file '.*' is not in or below '<path to cached source>"
    ):
        check_reach(tree.root / "app", tree)


def test_kustomizations_that_are_fine(tree_of: MakeTree) -> None:
    tree = tree_of(
        {
            "app/kustomization.yaml": "resources: [../base, https://example.org/x, github.com/a/b//c?ref=v]\n"
            "patches: [{patch: '[{op: add, path: /../../x}]'}]\n",
            "base/kustomization.yaml": "resources: [../app, a.yaml]\n",
            "base/a.yaml": "apiVersion: v1\nkind: ConfigMap\ndata: {path: /etc/passwd}\n",
        }
    )
    check_reach(tree.root / "app", tree)


def test_settings() -> None:
    data: Object = {
        "helm.enable": "false",
        "jsonnet.enable": "true",
        "kustomize.buildOptions": "--enable-helm",
        "kustomize.path.v5.0.0": "/k",
        "helm.valuesFileSchemes": "https, s3",
    }
    options = with_settings(RenderOptions(), {"data": data})
    assert options.disabled_tools == {"Helm"}
    assert options.kustomize_build_options == "--enable-helm"
    assert options.kustomize_versions == {"v5.0.0"}
    assert options.value_schemes == ("https", "s3")


def test_plugins_are_not_run(tree_of: MakeTree) -> None:
    with pytest.raises(CannotRender, match="avp"):
        rendered(tree_of({"app/a.yaml": config_map("a")}), plugin={"name": "avp"})


def test_without_tools_the_next_step_is_named(tree_of: MakeTree, tmp_path: Path) -> None:
    options = RenderOptions(tools=tmp_path)
    for name in ("Chart.yaml", "kustomization.yaml"):
        with pytest.raises(CannotRender) as problem:
            rendered(tree_of({f"app/{name}": "name: x\n"}), options=options)
        assert "python -m whysync.argocd.repo_server.render" in problem.value.next


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("echo 'fatal error: runtime: out of memory' >&2; exit 2", "ended: out of memory"),
        ("kill -9 $$", "ended: signal: killed"),
    ],
)
def test_a_tool_that_gets_no_memory_here_may_get_it_elsewhere(tmp_path: Path, script: str, how: str) -> None:
    with home(RenderOptions(), str) as tools, pytest.raises(CannotRender, match=how):
        tools.call(["sh", "-c", script], shown_as=("helm", "template"), folder=tmp_path)


def test_a_tool_that_crashes_for_another_reason_crashes_everywhere(tmp_path: Path) -> None:
    with home(RenderOptions(), str) as tools, pytest.raises(CommandFailed, match="exit status 2: panic"):
        tools.call(["sh", "-c", "echo panic >&2; exit 2"], shown_as=("helm", "template"), folder=tmp_path)


@pytest.mark.parametrize(
    "complaint",
    [
        "`k` failed exit status 1: error: a 'b': `\nname: x\n`: no",
        '`k` failed exit status 1: E1116 05:43:22.398156    5639 run.go:72] "command failed" err=<\n'
        "\ta 'b': `\n\tname: x\n\t`: no\n >",
        "`k` failed exit status 1: E1116 05:43:22.398156    5639 run.go:72] "
        '"command failed" err="a \'b\': `\\nname: x\\n`: no"',
        "`k` failed exit status 1: Error: a 'b': `\nname: x\n`: no",
    ],
)
def test_a_kubectl_complains_as_kustomize_does(complaint: str) -> None:
    assert as_kustomize_error(complaint) == "`k` failed exit status 1: Error: a 'b': `\nname: x\n`: no"
