from __future__ import annotations

import pytest

from tests.cli.running import Whysync
from tests.situations import ROOT
from whysync.cli.parser import parser
from whysync.errors import UsageError

BUNDLE = str(ROOT / "examples" / "autoscaler-loop")


def test_limits_of_a_bundle_can_be_set(whysync: Whysync) -> None:
    assert whysync("diagnose", "--bundle", BUNDLE, "--max-files", "1").code == 2
    assert whysync("diagnose", "--bundle", BUNDLE, "--max-size", "1k").code == 2
    assert whysync("diagnose", "--bundle", BUNDLE, "--max-size", "1MiB", "--max-files", "50").code == 1


@pytest.mark.parametrize(
    ("written", "expected"), [("1000", 1000), ("64MiB", 64 << 20), ("2Gi", 2 << 30), ("5k", 5 << 10)]
)
def test_sizes(written: str, expected: int) -> None:
    options = parser({}).parse_args(["diagnose", "--bundle", "x", "--max-size", written])
    assert options.max_size == expected


@pytest.mark.parametrize("written", ["", "0", "x", "1.5G", "-1", "1TiB", "MiB"])
def test_what_is_no_size(written: str) -> None:
    with pytest.raises(UsageError):
        parser({}).parse_args(["diagnose", "--bundle", "x", f"--max-size={written}"])
