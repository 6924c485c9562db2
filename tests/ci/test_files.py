"""The files for CI and the guides: they name flags that exist."""

from __future__ import annotations

import re

import pytest

from tests.situations import ROOT
from whysync.cli.parser import parser
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.yaml import load

VERBS = parser().verbs()
FLAGS = {
    name: {flag for action in verb._actions for flag in action.option_strings}  # pyright: ignore[reportPrivateUsage]  (no public way)
    for name, verb in VERBS.items()
}
FILES = (
    ".pre-commit-hooks.yaml",
    "action.yml",
    "ci/gitlab.yml",
    "ci/github.sh",
    "docs/linting.md",
    "docs/planning.md",
    "docs/pipeline.md",
)


@pytest.mark.parametrize("name", FILES)
def test_every_flag_exists(name: str) -> None:
    written = (ROOT / name).read_text().replace("\\\n", " ")
    for verb, line in re.findall(r"whysync (\w+)([^\n`|;]*)", written):
        if verb in FLAGS:
            for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]+", line):
                assert flag in FLAGS[verb], f"{name}: whysync {verb} {flag}"


def test_hooks_are_what_pre_commit_takes() -> None:
    """See "Creating new hooks" in pre-commit's documentation."""
    hooks = [fields(item) for item in items(load((ROOT / ".pre-commit-hooks.yaml").read_text()))]
    assert [text(hook.get("id")) for hook in hooks] == [
        "whysync-lint",
        "whysync-lint-changed",
        "whysync-plan",
    ]
    stages = {"pre-commit", "pre-push", "commit-msg", "manual", "pre-merge-commit"}
    for hook in hooks:
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert hook.keys() <= {
            "id", "name", "description", "entry", "language", "types", "types_or", "files", "exclude", "args",
            "pass_filenames", "always_run", "require_serial", "stages", "verbose",
        }  # fmt: skip
        assert hook["language"] == "python"
        assert {text(stage) for stage in items(hook.get("stages"))} <= stages
        assert text(hook["entry"]).split()[:1] == ["whysync"]
