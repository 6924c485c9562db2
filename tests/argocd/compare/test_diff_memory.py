"""A comparison that remembers says what one without a memory says."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.argocd.compare.comparing import application, config_map, inputs
from whysync.argocd.compare.compare_app_state import compare
from whysync.argocd.compare.comparison import Memo, Memory
from whysync.json_tree import Object

NAMES = ("a", "b", "c")
Step = tuple[dict[str, str], dict[str, str], bool]


def steps() -> st.SearchStrategy[list[Step]]:
    names: list[str] = [*NAMES]
    values: list[str] = ["1", "2"]
    side = st.dictionaries(st.sampled_from(names), st.sampled_from(values))
    return st.lists(st.tuples(side, side, st.booleans()), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(steps())
def test_with_and_without_a_memory_alike(played: list[Step]) -> None:
    memory = Memory()
    known: dict[tuple[str, str, bool], Object] = {}
    app = application(spec={"syncPolicy": {"automated": {}}})

    def one(name: str, value: str, *, live: bool) -> Object:
        # The same object again and again, as caches hand it out.
        key = (name, value, live)
        if key not in known:
            data: Object = {"x": value}
            known[key] = (
                config_map(name, data=data, uid=f"uid-{name}") if live else config_map(name, data=data)
            )
        return known[key]

    for targets, live, moved in played:
        given_inputs = inputs(
            app={**app, "status": {"reconciledAt": "2026-01-01T00:00:00Z"}} if moved else app,
            targets=tuple(one(name, value, live=False) for name, value in sorted(targets.items())),
            live=[one(name, value, live=True) for name, value in sorted(live.items())],
        )
        remembered = compare(replace(given_inputs, memory=memory))
        plain = compare(given_inputs)
        assert remembered.status == plain.status
        assert remembered.conditions == plain.conditions
        assert [row.key for row in remembered.resources] == [row.key for row in plain.resources]


def test_an_entry_unused_in_a_whole_comparison_is_evicted() -> None:
    memo: Memo[int] = Memo()
    computed: list[str] = []
    obj: Object = {}

    def make() -> int:
        computed.append("computed")
        return len(computed)

    assert memo.recall(make, obj) == 1
    assert memo.recall(make, obj) == 1
    memo.start_comparison()
    assert memo.recall(make, obj) == 1
    memo.start_comparison()
    memo.start_comparison()
    assert memo.recall(make, obj) == 2


def test_an_equal_object_is_another_one() -> None:
    memo: Memo[str] = Memo()
    first: Object = {"a": 1}
    other: Object = {"a": 1}
    assert memo.recall(lambda: "one", first) == "one"
    assert memo.recall(lambda: "other", other) == "other"
