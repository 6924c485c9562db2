"""Random JSON trees for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from whysync.json_tree import Json, Object

KEYS = st.sampled_from(["a", "b", "name", "spec", "x/y", "t~w", "", "0"])
VALUES: st.SearchStrategy[Json] = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.sampled_from(["", "a", "b", "1", "true", "0.5", "500m", "1s"]),
)
SCALARS: st.SearchStrategy[Json] = st.one_of(st.none(), VALUES)


def trees(scalars: st.SearchStrategy[Json] = SCALARS) -> st.SearchStrategy[Json]:
    return st.recursive(
        scalars,
        lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(KEYS, below, max_size=4)),
        max_leaves=12,
    )


def objects(scalars: st.SearchStrategy[Json] = SCALARS) -> st.SearchStrategy[Object]:
    return st.dictionaries(KEYS, trees(scalars), max_size=5)
