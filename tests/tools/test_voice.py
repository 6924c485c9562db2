"""The ratchet of phrases: counts may go down, not up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.voice import main


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for folder in ("tools", "docs", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tools/voice.toml").write_text('[phrases]\n"mend(s|ed)?" = "fix"\n"at hand" = "available"\n')
    (tmp_path / "tools/voice_counts.json").write_text('{"docs": {"mend(s|ed)?": 2}}')
    (tmp_path / "docs/page.md").write_text("Mend it. It is mended; recommended and amended are words.\n")
    return tmp_path


def recorded(repository: Path) -> object:
    return json.loads((repository / "tools/voice_counts.json").read_text())


def test_as_many_as_recorded_pass(repository: Path) -> None:
    assert main([], root=repository) == 0


@pytest.mark.parametrize("update", [[], ["--update"]])
def test_one_more_fails_and_is_not_recorded(
    repository: Path, update: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "docs/more.md").write_text("Nothing was at\nhand.\n")
    assert main(update, root=repository) == 1
    assert "docs: /at hand/ occurs 1 times, at most 0 allowed; write “available”" in capsys.readouterr().out
    assert recorded(repository) == {"docs": {"mend(s|ed)?": 2}}


def test_fewer_are_recorded_by_update_only(repository: Path) -> None:
    (repository / "docs/page.md").write_text("Mend it.\n")
    assert main([], root=repository) == 0
    assert recorded(repository) == {"docs": {"mend(s|ed)?": 2}}
    assert main(["--update"], root=repository) == 0
    assert recorded(repository) == {"docs": {"mend(s|ed)?": 1}}
    (repository / "docs/page.md").write_text("Fix it.\n")
    assert main(["--update"], root=repository) == 0
    assert recorded(repository) == {}


def test_of_tests_only_docstrings_count(repository: Path) -> None:
    path = repository / "tests/test_it.py"
    path.write_text('"""Reports."""\n\nEXPECTED = "mend it"\n')
    assert main([], root=repository) == 0
    path.write_text('def test_it() -> None:\n    """It is mended."""\n')
    assert main([], root=repository) == 1


def test_places_are_listed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"], root=repository) == 0
    assert (
        capsys.readouterr().out.splitlines() == ["docs/page.md:1: write “fix” instead of /mend(s|ed)?/"] * 2
    )
