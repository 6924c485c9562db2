"""Conversations made by hypothesis; always the same ones, so that a run says the same tomorrow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from suites.cluster.conversation import held
from suites.cluster.generated import KINDS, conversations
from suites.cluster.steps import Case
from suites.cluster.tally import Tally
from whysync.kubernetes.apiserver.protocol import Cluster

_EXAMPLES = 120


@pytest.mark.parametrize("kind", KINDS)
def test_model_answers_as_the_server(kind: str, real: Cluster, names: Iterator[str], tally: Tally) -> None:
    @settings(
        max_examples=_EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        steps = data.draw(conversations(kind))
        unknown = tally.add(held(real, Case(f"generated/{kind}", steps), next(names)))
        assert not unknown, "\n".join(unknown)

    run()
