"""The hooks of .pre-commit-hooks.yaml, run as pre-commit runs them; with pre-commit itself in suites/ci."""

from __future__ import annotations

import shlex

from tests.ci.machine import Done, Machine
from tests.situations import ROOT
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.api.yaml import load

HOOKS = {
    text(fields(one)["id"]): fields(one) for one in items(load((ROOT / ".pre-commit-hooks.yaml").read_text()))
}


def run(machine: Machine, hook: Object, *files: str) -> Done:
    given = files if hook.get("pass_filenames", True) else ()
    return machine(*shlex.split(text(hook["entry"])), *given)


def test_the_whole_tree(machine: Machine) -> None:
    done = run(machine, HOOKS["whysync-lint"], "apps/shop/config.yaml")
    assert (done.code, done.err) == (1, "")
    assert "unknown_field" in done.out, "it is not in the file that changed"


def test_the_changed_files_alone(machine: Machine) -> None:
    assert run(machine, HOOKS["whysync-lint-changed"], "apps/shop/config.yaml").code == 0
    assert (
        run(machine, HOOKS["whysync-lint-changed"], "apps/other/wrong.yaml", "apps/shop/config.yaml").code
        == 1
    )


def test_before_a_push(machine: Machine) -> None:
    done = run(machine, HOOKS["whysync-plan"])
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("Would fail.")
    machine.mend()
    assert run(machine, HOOKS["whysync-plan"]).code == 0
