"""What holds for every text, hostile ones too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clock import processor_seconds
from tests.messages import test_apply, test_clusters, test_operations, test_sources, test_workloads
from whysync.messages.parse import understand, within
from whysync.messages.patterns import ALL

OF_ARGOCD = [
    row[0]
    for table in (
        test_sources.CREDENTIALS,
        test_sources.TRUST,
        test_sources.HELM_TEXTS,
        test_sources.OTHER_TOOLS,
        test_clusters.ROWS,
        test_apply.IMMUTABLE,
        test_apply.SCHEMA,
        test_apply.ADMISSION,
        test_operations.ROWS,
    )
    for row in table
]
KNOWN = [*OF_ARGOCD, *(row[0] for row in test_workloads.ROWS)]
HINTS = sorted({pattern.hint for pattern in ALL.patterns if pattern.hint})

pieces = st.one_of(
    st.sampled_from(KNOWN),
    st.sampled_from(HINTS),
    st.sampled_from(
        [", ", ",", "; ", ";", "\n", ": ", '"', '\\"', "`", "` failed ", "[", "]", " (retried 3 times)."]
    ),
    st.text(max_size=40),
)
texts = st.lists(pieces, max_size=8).map("".join)


@given(texts)
def test_every_text_has_an_answer_that_cites_it(text: str) -> None:
    message = understand(text)
    assert message.text == text
    assert message.rest in text
    for failure in message.failures:
        assert failure.text in text
    assert understand(text) == message


@given(
    st.sampled_from(OF_ARGOCD), st.sampled_from(["ComparisonError: ", "rpc error: code = Unknown desc = "])
)
def test_a_wrapper_more_changes_no_failure(text: str, wrapper: str) -> None:
    plain = [type(failure) for failure in understand(text).failures]
    if plain and "rpc" not in wrapper:
        assert [type(failure) for failure in understand(wrapper + text).failures] == plain


@given(st.sampled_from(KNOWN), st.integers(min_value=0, max_value=400))
def test_a_text_that_was_cut_off_does_no_harm(text: str, length: int) -> None:
    for failure in understand(text[:length]).failures:
        assert within(failure)[0] is failure


@pytest.mark.parametrize("unit", [*HINTS, "a.b[c]: ", '"', "`", ", ", "[", "((((", "a ", "a: ", '\\"'])
def test_a_megabyte_of_hostile_text_is_read_in_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit) + 1)
    assert processor_seconds(lambda: understand(text)) < 2
