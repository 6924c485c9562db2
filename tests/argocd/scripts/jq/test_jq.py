from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whysync.argocd.scripts.jq import BadExpression, Deletion, DeletionFailed, plain
from whysync.json_tree import Json, Object, copy

OBJECT: Object = {
    "spec": {
        "replicas": 3,
        "containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}],
        "text": "t",
    },
    "metadata": {"annotations": {"a/b": "1"}},
}


@pytest.mark.parametrize(
    ("expression", "removed_path"),
    [
        (".spec.replicas", ["spec", "replicas"]),
        ('.metadata.annotations["a/b"]', ["metadata", "annotations", "a/b"]),
        ('.metadata.annotations."a/b"', ["metadata", "annotations", "a/b"]),
        (' .["spec"] | .replicas ', ["spec", "replicas"]),
        (".spec.replicas?", ["spec", "replicas"]),
    ],
)
def test_plain_paths(expression: str, removed_path: list[str]) -> None:
    assert plain.parse(expression) is not None
    expected = copy(OBJECT)
    parent = expected
    for step in removed_path[:-1]:
        assert isinstance(parent, dict)
        parent = parent[step]
    assert isinstance(parent, dict)
    del parent[removed_path[-1]]
    assert Deletion(expression).apply(OBJECT) == expected


@pytest.mark.parametrize(
    "expression",
    [
        '.spec.containers[] | select(.name == "b")',
        '.spec.containers[] | select(.name == "b" and true)',  # not plain: the real jq
        ".spec.containers[1]",
        ".spec.containers[-1]",
        ".spec.containers[1:]",
    ],
)
def test_items_of_lists(expression: str) -> None:
    result = Deletion(expression).apply(OBJECT)
    assert isinstance(result, dict)
    assert isinstance(result["spec"], dict)
    assert result["spec"]["containers"] == [{"name": "a", "image": "x"}]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (".status[]", "JQ patch returned error: cannot iterate over: null"),
        (".status[] | tostring", "JQ patch returned error: cannot iterate over: null"),
        (".spec.text.x", 'JQ patch returned error: expected an object but got: string ("t")'),
        (".spec) , (.metadata", "JQ patch returned multiple objects"),
        (".spec) | empty | (.", "JQ patch did not return any data"),
        ('.spec | .text["x"] | tostring', "JQ patch returned error: expected an object but got: string"),
        (
            ".spec.text |= fromjson) | (.",
            "JQ patch returned error: fromjson cannot be applied to "
            '"t": Invalid literal at EOF at line 1, column 1',
        ),
        ("last(repeat(1))", "JQ patch execution timed out (200ms)"),
        ("[limit(1e9; repeat(1))]", "JQ patch execution timed out (200ms)"),
    ],
)
def test_a_failure_is_told_in_the_words_of_argo_cd(expression: str, message: str) -> None:
    with pytest.raises(DeletionFailed) as problem:
        Deletion(expression, seconds=0.2).apply(OBJECT)
    assert str(problem.value) == message


@pytest.mark.parametrize(
    "expression", ['.a, ("x" * 1000000000 | empty)', '.a, (["x" * 400000000] | add | empty)']
)
def test_an_expression_that_needs_too_much_memory_is_stopped(expression: str) -> None:
    with pytest.raises(DeletionFailed, match="memory limit of 256 MiB"):
        Deletion(expression, seconds=60).apply(OBJECT)
    assert Deletion(".spec.text | select(length > 0)").apply(OBJECT) != OBJECT, "the next one gets an answer"


@pytest.mark.parametrize(
    "expression",
    [
        ".spec.containers[",
        '.a | select(.b == "c)',
        "nonsense",
        ".a | input",
        "debug",
        "keys_unsorted[0]",
        "",
        "\0",
    ],
)
def test_what_does_not_compile_is_refused(expression: str) -> None:
    with pytest.raises(BadExpression):
        Deletion(expression)


@pytest.mark.parametrize(
    "expression", [".debug", '.["input"]', "$ENV.x", 'select(.input == "debug") | .stderr']
)
def test_names_of_refused_functions_are_fine_elsewhere(expression: str) -> None:
    Deletion(expression)


def test_environment_is_empty() -> None:
    with pytest.raises(DeletionFailed):
        Deletion(".[env.HOME]").apply({"x": 1})  # null is no key


names = st.sampled_from(["a", "b", "c"])
steps = st.one_of(
    names.map(lambda name: f".{name}"),
    names.map(lambda name: f'.["{name}"]'),
    st.integers(-2, 2).map(lambda index: f".[{index}]"),
    st.just(".[]"),
)
paths = st.lists(st.builds(str.__add__, steps, st.sampled_from(["", "", "?"])), min_size=1, max_size=3).map(
    "".join
)
selects = st.builds("select(.{} == {})".format, names, st.sampled_from(["1", '"x"', "null", "true"]))
expressions = st.lists(paths | selects, min_size=1, max_size=3).map(" | ".join)
trees: st.SearchStrategy[Json] = st.recursive(
    st.sampled_from([None, True, 1, 1.5, "x"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(names, below, max_size=3),
    max_leaves=8,
)


def outcome(expression: str, tree: Json, *, real: bool) -> Json | type[DeletionFailed]:
    # an extra pair of brackets means nothing to jq, and takes the expression from the plain path
    deletion = Deletion(f"({expression})" if real else expression)
    assert (deletion.program is None) is real
    try:
        return deletion.apply(tree)
    except DeletionFailed:
        return DeletionFailed


@settings(deadline=None, max_examples=300)
@given(expression=expressions, tree=trees)
def test_plain_expressions_mean_what_jq_means(expression: str, tree: Json) -> None:
    before = copy(tree)
    assert outcome(expression, tree, real=False) == outcome(expression, tree, real=True)
    assert tree == before
