"""The entry of a release, assembled from fragments."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tests.situations import ROOT
from tools.changelog import KINDS, fragments, main

DAY = date(2026, 3, 2)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/README.md").write_text("# Changes\n")
    (tmp_path / "changes/loop.fixed.md").write_text("A loop ends.\nAfter three rounds.\n")
    (tmp_path / "changes/wait.added.md").write_text("`whysync wait`.\n")
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\nIntroduction.\n\n## 0.1.0 (2026-01-01)\n\nFirst.\n"
    )
    return tmp_path


ENTRY = """\
## 0.2.0 (2026-03-02)

### Added

- `whysync wait`.

### Fixed

- A loop ends.
  After three rounds.
"""


def test_a_draft_prints_the_entry_and_writes_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (repository / "CHANGELOG.md").read_text()
    assert main(["0.2.0"], root=repository, today=DAY) == 0
    assert capsys.readouterr().out == ENTRY
    assert (repository / "CHANGELOG.md").read_text() == before
    assert (repository / "changes/loop.fixed.md").exists()


def test_write_puts_the_entry_above_the_older_ones_and_deletes_the_fragments(repository: Path) -> None:
    assert main(["0.2.0", "--write"], root=repository, today=DAY) == 0
    assert (repository / "CHANGELOG.md").read_text() == (
        f"# Changelog\n\nIntroduction.\n\n{ENTRY}\n## 0.1.0 (2026-01-01)\n\nFirst.\n"
    )
    assert [path.name for path in (repository / "changes").iterdir()] == ["README.md"]


@pytest.mark.parametrize("version", ["0.1.0", "next", "v0.2.0"])
def test_a_released_or_malformed_version_is_refused(repository: Path, version: str) -> None:
    before = (repository / "CHANGELOG.md").read_text()
    with pytest.raises(SystemExit) as refused:
        main([version, "--write"], root=repository, today=DAY)
    assert refused.value.code != 0
    assert (repository / "CHANGELOG.md").read_text() == before


def test_a_fragment_of_an_unknown_kind_is_named(repository: Path) -> None:
    (repository / "changes/loop.improved.md").write_text("Better.\n")
    with pytest.raises(SystemExit, match=r"loop\.improved\.md"):
        main(["0.2.0"], root=repository, today=DAY)


def test_the_fragments_of_this_repository_can_be_assembled() -> None:
    assert tuple(fragments(ROOT)) == KINDS
