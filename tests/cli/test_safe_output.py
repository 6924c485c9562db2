"""All output leaves through `reports/output.py`, that of errors, notes and logs too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Whysync, process
from tests.reports.hostile import check, check_text
from tests.situations import ROOT

SOURCE = ROOT / "src" / "whysync"
# Text becomes safe in these modules alone.
EXITS = {"output.py", "markdown_text.py", "xml_text.py", "json_yaml.py", "github.py"}
# Programs of their own, whose output whysync reads or a person asked for.
CHILDREN = {"argocd/repo_server/render/jsonnet_child.py", "argocd/repo_server/render/__main__.py"}
NAME = "a\x1b[31m\u202e\n::error::x.yaml"
BAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a: 1\n"


def _calls(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


def test_all_output_goes_through_the_escaping_writers() -> None:
    violations: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        for name, line in _calls(ast.parse(path.read_text())):
            writes = name == "print" or name.startswith(("sys.stdout.write", "sys.stderr.write"))
            if writes and module not in CHILDREN and module != "reports/output.py":
                violations.append(f"{module}:{line}: {name}")
            allowed = (module.startswith("reports/") and path.name in EXITS) or module == "cli/watch.py"
            if name in ("Safe", "output.Safe") and not allowed:
                violations.append(f"{module}:{line}: {name}")
    assert violations == []


def test_names_of_files_in_notes_on_standard_error(
    whysync: Whysync, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(NAME).write_text(BAD)
    result = whysync("lint", "--fix", ".")
    assert result.err.startswith("fixed a\N{REPLACEMENT CHARACTER}[31m")
    assert result.err.count("\n") == 1
    check_text(result.err)
    Path(NAME).write_text(BAD)
    for format in ("text", "json", "sarif", "junit", "github", "gitlab", "markdown"):
        check(format, whysync("lint", ".", "-o", format).out)


@pytest.mark.parametrize(
    "arguments", [("diagnose", "--bundle", NAME), (NAME,), ("lint", NAME), ("lab", "run", NAME)]
)
def test_words_of_the_command_line_in_errors(whysync: Whysync, arguments: tuple[str, ...]) -> None:
    result = whysync(*arguments)
    assert result.code == 2
    assert "\n::" not in result.err
    check_text(result.err)


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    """Python keeps such bytes as halves of surrogate pairs, which no encoder takes."""
    (tmp_path / "a\udcff.yaml").write_text(BAD)
    for format in ("text", "json", "sarif", "junit", "github", "gitlab", "markdown"):
        result = process("lint", str(tmp_path), "-o", format)
        assert result.code == 1, result.err
        assert "value_of_wrong_type" in result.out.replace("\\", "")


def test_what_is_logged_is_safe_too(whysync: Whysync, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("a: [")
    result = whysync("diagnose", "-vv", "--bundle", str(tmp_path))
    check_text(result.err)
