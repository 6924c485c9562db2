"""What is known to differ does differ: an entry that a fix has made untrue must go."""

from __future__ import annotations

import pytest

from suites.cluster.cases import all_cases
from suites.cluster.known import known_differences
from suites.cluster.tally import Tally


def test_every_known_difference_was_met(tally: Tally) -> None:
    if not tally.cases >= all_cases().keys():
        pytest.skip("only some of the cases were run")
    stale = {known.id for known in known_differences()} - tally.known.keys()
    assert not stale, f"these do not differ any more; take them out of known.toml: {sorted(stale)}"
