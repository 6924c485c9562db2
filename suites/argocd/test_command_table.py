"""The table of argocd's commands, which tests use to check printed commands, matches the real program.

Not part of `.ci/run`: it needs an argocd binary, whose path is in WHYSYNC_ARGOCD.
"""

from __future__ import annotations

import os

import pytest

from tests.fixes.programs import TABLES, table_of
from tools import command_tables


def test_table_matches_the_program() -> None:
    binary = os.environ.get("WHYSYNC_ARGOCD")
    if binary is None:
        pytest.fail("set WHYSYNC_ARGOCD to the path of an argocd binary")
    table = command_tables.table_of("argocd", binary, table_of("argocd")["version"])
    assert command_tables.written(table) == (TABLES / "argocd.json").read_text()
