from __future__ import annotations

import pytest

from tests.argocd.repo_server.render.conftest import MakeTree, config_map, names, rendered
from whysync.argocd.repo_server.render import RenderOptions, RenderProblem


def test_files_of_one_folder_by_name_with_their_lines(tree_of: MakeTree) -> None:
    tree = tree_of(
        {
            "app/b.yml": config_map("b"),
            "app/a.yaml": f"# first\n{config_map('a1')}---\n{config_map('a2')}",
            "app/c.json": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}',
            "app/notes.txt": config_map("no"),
            "app/deep/d.yaml": config_map("d"),
        }
    )
    result = rendered(tree)
    assert result.source_type == "Directory"
    assert names(result) == ["a1", "a2", "b", "c"]
    assert [str(obj.origin) for obj in result.objects] == [
        "app/a.yaml:2",
        "app/a.yaml:7",
        "app/b.yml:1",
        "app/c.json:1",
    ]
    assert names(rendered(tree, directory={"recurse": True})) == ["a1", "a2", "b", "c", "d"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"include": "*.yaml"}, ["a", "b", "x"]),
        ({"include": "{a,sub/x}.yaml"}, ["a", "x"]),
        ({"exclude": "sub/*"}, ["a", "b"]),
        ({"include": "*.yaml", "exclude": "{b.yaml,*/x.yaml}"}, ["a"]),
        ({"include": "[ab].yaml", "exclude": "b*"}, ["a"]),
        ({"include": "[a"}, []),
    ],
)
def test_include_and_exclude_also_cross_folders(
    tree_of: MakeTree, settings: dict[str, str], expected: list[str]
) -> None:
    tree = tree_of({f"app/{name}.yaml": config_map(name[-1]) for name in ("a", "b", "sub/x")})
    assert names(rendered(tree, directory={"recurse": True, **settings})) == expected


def test_other_endings_only_when_told(tree_of: MakeTree) -> None:
    tree = tree_of({"app/a.yaml.sealed": config_map("a")})
    assert names(rendered(tree)) == []
    assert names(rendered(tree, directory={"disableExtensionFilter": True})) == ["a"]


def test_lists_are_unfolded_one_level(tree_of: MakeTree) -> None:
    inner = '{"kind":"L","items":[{"kind":"B"}],"metadata":{"name":"two"}}'
    items = f'[{{"kind":"A","metadata":{{"name":"one"}}}},{inner}]'
    tree = tree_of(
        {
            "app/list.yaml": f"apiVersion: v1\nkind: List\nitems: {items}\n",
            "app/none.yaml": "apiVersion: v1\nkind: ConfigMapList\nitems: null\n",
        }
    )
    assert names(rendered(tree)) == ["one", "two"]
    broken = tree_of({"app/list.yaml": "apiVersion: v1\nkind: List\nitems: [5]\n"})
    with pytest.raises(RenderProblem, match="items member is not an object: int64"):
        rendered(broken)


def test_what_is_skipped(tree_of: MakeTree) -> None:
    tree = tree_of(
        {
            "app/marked.yaml": f"# +argocd:skip-file-rendering\n{config_map('no')}",
            "app/values.yaml": "replicas: 1\n",
            "app/list.yaml": "- a\n- b\n",
            "app/text.yaml": "just words\n",
            "app/empty.yaml": "---\n# nothing\n---\n",
            "app/kept.yaml": config_map("kept"),
            "app/gone.yaml": "-> nowhere.yaml",
        }
    )
    assert names(rendered(tree)) == ["kept"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            f"{config_map('a')}data:\n  x: y\n bad: z\n",
            'Failed to unmarshal "f.yaml": failed to unmarshal manifest: error converting YAML to JSON: '
            "yaml: line 6: did not find expected key",
        ),
        (
            f"{config_map('a')}---\nreplicas: 1\n",
            'Failed to unmarshal "f.yaml": failed to unmarshal manifest: error unmarshaling JSON: '
            "while decoding JSON: Object 'Kind' is missing in '{\"replicas\":\"…\"}'",
        ),
        (
            f"{config_map('a')}data: {{{{ .Values.data }}}}\n",
            'Failed to unmarshal "f.yaml": failed to unmarshal manifest: error converting YAML to JSON: '
            'yaml: invalid map key: map[interface {}]interface {}{".Values.data":interface {}(nil)}',
        ),
        (
            f"{config_map('a')}x: @foo\n",
            'Failed to unmarshal "f.yaml": failed to unmarshal manifest: error converting YAML to JSON: '
            "yaml: line 5: found character that cannot start any token",
        ),
        (
            f"{config_map('a')}x: *other\n",
            'Failed to unmarshal "f.yaml": failed to unmarshal manifest: error converting YAML to JSON: '
            "yaml: unknown anchor 'other' referenced",
        ),
        (
            f"{config_map('a')}---\n- a\n",
            'Failed to unmarshal "f.yaml": failed to unmarshal manifest: error unmarshaling JSON: '
            "while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
    ],
)
def test_what_looks_like_a_manifest_and_is_none(tree_of: MakeTree, content: str, text: str) -> None:
    with pytest.raises(RenderProblem) as problem:
        rendered(tree_of({"app/f.yaml": content}))
    assert (problem.value.text, problem.value.code) == (text, "FailedPrecondition")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('{"kind":"A"}{"kind":"B"}', "Found multiple objects in"),
        ('{"a":1}', "Failed to unmarshal \"f.json\": Object 'Kind' is missing in"),
        ("[1]", "cannot unmarshal array into Go value"),
        ('{"a":', "unexpected EOF"),
        ("nope", "invalid character 'n' looking for beginning of value"),
        ("", "EOF"),
    ],
)
def test_a_json_file_is_one_object(tree_of: MakeTree, content: str, text: str) -> None:
    with pytest.raises(RenderProblem) as problem:
        rendered(tree_of({"app/f.json": content}))
    assert text in problem.value.text


def test_no_value_of_a_manifest_is_told(tree_of: MakeTree) -> None:
    content = "apiVersion: v1\nmetadata: {name: x}\nkind: ''\nstringData: {password: hunter2}\n"
    with pytest.raises(RenderProblem) as problem:
        rendered(tree_of({"app/f.yaml": content}))
    assert "hunter2" not in problem.value.text
    assert "stringData" in problem.value.text


def test_too_much_at_once(tree_of: MakeTree) -> None:
    tree = tree_of({f"app/{number}.yaml": config_map("x") for number in range(5)})
    with pytest.raises(RenderProblem) as problem:
        rendered(tree, options=RenderOptions(most_manifest_bytes=200))
    assert problem.value.text == (
        "failed to get potentially valid manifests: exceeded max combined manifest file size"
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("nope", "nope: app path does not exist"),
        ("/app", "/app: app path is absolute"),
        ("../app", "../app: app path outside root"),
        ("app/a.yaml", "app/a.yaml: app path is not a directory"),
        ("app/a.yaml/b", "app/a.yaml/b: app path does not exist"),
    ],
)
def test_paths(tree_of: MakeTree, path: str, text: str) -> None:
    with pytest.raises(RenderProblem) as problem:
        rendered(tree_of({"app/a.yaml": config_map("a")}), path)
    assert problem.value.text == text


def test_links_inside_are_followed_and_those_outside_refused(tree_of: MakeTree) -> None:
    inside = tree_of({"shared/a.yaml": config_map("a"), "app/a.yaml": "-> ../shared/a.yaml"})
    assert names(rendered(inside)) == ["a"]
    for target in ("/etc/passwd", "../../etc/passwd", "../../tree0/app/x"):
        tree = tree_of({"app/a.yaml": config_map("a"), "other/out.yaml": f"-> {target}"})
        with pytest.raises(RenderProblem) as problem:
            rendered(tree)
        assert problem.value.text == "repository contains out-of-bounds symlinks. file: other/out.yaml"


def test_links_in_a_circle(tree_of: MakeTree) -> None:
    tree = tree_of({"app/a.yaml": "-> b.yaml", "app/b.yaml": "-> a.yaml"})
    with pytest.raises(RenderProblem, match=r"failed to evaluate symlink at .* too many links"):
        rendered(tree)


def test_names_with_line_breaks(tree_of: MakeTree) -> None:
    tree = tree_of({"app/a\nb.yaml": config_map("a"), "app/x\ny/c.yaml": config_map("c")})
    assert names(rendered(tree)) == []
    result = rendered(tree, directory={"recurse": True})
    assert [obj.origin.path for obj in result.objects] == ["app/x\ny/c.yaml"]


def test_a_bomb_of_aliases_ends(tree_of: MakeTree) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(RenderProblem):
        rendered(tree_of({"app/bomb.yaml": config_map("a") + "\n".join(lines)}))
