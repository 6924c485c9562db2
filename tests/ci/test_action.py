"""action.yml against the rules of GitHub's syntax for composite actions, as far as they can be said by hand.

See "Metadata syntax for GitHub Actions" in GitHub's documentation.
"""

from __future__ import annotations

import re

from tests.situations import ROOT
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.yaml import load

ACTION = fields(load((ROOT / "action.yml").read_text()))
STEPS = [fields(step) for step in items(dig(ACTION, "runs", "steps"))]
WRITTEN = (ROOT / "action.yml").read_text()
COLOURS = {"white", "black", "yellow", "blue", "green", "orange", "red", "purple", "gray-dark"}
SHELLS = {"bash", "sh", "pwsh", "python", "cmd", "powershell"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def expressions() -> list[str]:
    return [item.strip() for item in re.findall(r"\$\{\{(.*?)\}\}", WRITTEN)]


def test_what_must_be_there_and_what_may() -> None:
    assert {"name", "description", "runs"} <= ACTION.keys()
    assert ACTION.keys() <= {"name", "author", "description", "inputs", "outputs", "runs", "branding"}
    assert len(text(ACTION["description"])) <= 125, "the Marketplace takes no more"
    assert dig(ACTION, "branding", "color") in COLOURS
    assert re.fullmatch(r"[a-z-]+", text(dig(ACTION, "branding", "icon")))


def test_inputs_and_outputs() -> None:
    for name, raw in fields(ACTION["inputs"]).items():
        document = fields(raw)
        assert NAME.fullmatch(name), name
        assert text(document.get("description")), name
        assert document.keys() <= {"description", "required", "default", "deprecationMessage"}, name
        assert isinstance(document.get("default"), str), (
            f"{name}: a default that is no text becomes another one"
        )
    for name, raw in fields(ACTION["outputs"]).items():
        document = fields(raw)
        assert NAME.fullmatch(name), name
        assert text(document.get("description")), name
        assert "value" in document, "a composite action says where its outputs come from"


def test_steps() -> None:
    assert dig(ACTION, "runs", "using") == "composite"
    assert fields(ACTION["runs"]).keys() == {"using", "steps"}
    allowed = {
        "name",
        "id",
        "if",
        "uses",
        "with",
        "run",
        "shell",
        "env",
        "working-directory",
        "continue-on-error",
    }
    for step in STEPS:
        assert step.keys() <= allowed, step
        assert ("run" in step) is not ("uses" in step), step
        if "run" in step:
            assert step.get("shell") in SHELLS, "a step of a composite action names its shell"
        else:
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@[\w.-]+", text(step["uses"]))
        assert all(isinstance(value, str) for value in fields(step.get("env")).values())
    ids = [text(step["id"]) for step in STEPS if "id" in step]
    assert len(ids) == len(set(ids))


def test_expressions_name_what_there_is() -> None:
    ids = {text(step.get("id")) for step in STEPS}
    for expression in expressions():
        kind, _, rest = expression.partition(".")
        if kind == "inputs":
            assert rest in fields(ACTION["inputs"]), expression
        elif kind == "steps":
            step, outputs, name = rest.split(".")
            assert (step in ids, outputs) == (True, "outputs"), expression
            assert f"{name}=%s" in (ROOT / "ci/github.sh").read_text(), expression
        else:
            assert expression == "github.token", expression


def test_every_input_is_used() -> None:
    used = {
        expression.removeprefix("inputs.") for expression in expressions() if expression.startswith("inputs.")
    }
    assert used == set(fields(ACTION["inputs"]))


def test_nothing_of_an_input_is_run_as_a_command() -> None:
    assert not [step for step in STEPS if "${{" in text(step.get("run"))]
    script = (ROOT / "ci/github.sh").read_text()
    assert "eval" not in script
    own: Object = fields(STEPS[-1].get("env"))
    for name in own:
        assert re.search(rf"\b{name}\b", script + (ROOT / "ci/pull_request.py").read_text()), (
            f"{name} is read"
        )
