"""Every family of failures becomes a finding with a cause that some rule explains."""

from __future__ import annotations

import pytest

from whysync.diagnosis.rule import VARIES, diagnosis_rules
from whysync.messages.failed_step import Family
from whysync.queries.unrecognized_errors import EXPLANATIONS


@pytest.mark.parametrize("family", Family)
def test_every_family_is_explained_with_a_known_cause(family: Family) -> None:
    causes = {rule.cause for rule in diagnosis_rules()} - {VARIES}
    assert EXPLANATIONS[family].cause in causes
