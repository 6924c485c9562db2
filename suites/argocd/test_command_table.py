"""The table of argocd's commands, which tests use to check printed commands, matches the real program."""

from __future__ import annotations

import os

import pytest

from tests.fixes.programs import TABLES, table_of
from tools import command_tables
from tools.real_argocd.programs import Programs


def test_table_matches_the_program(programs: Programs) -> None:
    if "WHYSYNC_ARGOCD" in os.environ:
        pytest.skip("the table is that of the version which is built")
    table = command_tables.table_of("argocd", str(programs.argocd), table_of("argocd")["version"])
    assert command_tables.written(table) == (TABLES / "argocd.json").read_text()
