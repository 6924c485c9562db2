"""Every conversation of `cases/`, held with the model and with a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from suites.cluster.cases import all_cases
from suites.cluster.conversation import held
from suites.cluster.tally import Tally
from whysync.kubernetes.apiserver.protocol import Cluster

_CASES = all_cases()


@pytest.mark.parametrize("name", _CASES)
def test_model_answers_as_the_server(name: str, real: Cluster, names: Iterator[str], tally: Tally) -> None:
    unknown = tally.add(held(real, _CASES[name], next(names)))
    assert not unknown, "\n".join(unknown)
