"""`--help` of each verb fits on one screen, its own flags first."""

from __future__ import annotations

import pytest

from whysync.cli.main import VERBS
from whysync.cli.parser import parser

SCREEN = 50


@pytest.mark.parametrize("verb", VERBS)
def test_help_fits_on_a_screen(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    help = parser(verb=verb).verbs()[verb].format_help()
    lines = help.splitlines()
    assert len(lines) <= SCREEN
    if "--kubeconfig" in help:
        assert help.index("--no-color") < help.index("more flags, described by --help-all:")
        assert help.index("more flags, described by --help-all:") < help.index("--kubeconfig")
