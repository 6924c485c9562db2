"""The table by which tests check printed commands is that of the real argocd, named by WHYSYNC_ARGOCD."""

from __future__ import annotations

import os

import pytest

from tests.fixes.programs import TABLES, table_of
from tools import command_tables


def test_the_table_is_what_the_program_says() -> None:
    binary = os.environ.get("WHYSYNC_ARGOCD")
    if binary is None:
        pytest.skip("WHYSYNC_ARGOCD names no argocd")
    table = command_tables.table_of("argocd", binary, table_of("argocd")["version"])
    assert command_tables.written(table) == (TABLES / "argocd.json").read_text()
