"""Templates of ApplicationSets, compared with the answers of Argo CD 3.6 (`Render.Replace`)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
import pytest

from whysync.argocd.application_sets.functions import FUNCTIONS
from whysync.argocd.application_sets.render import Renderer
from whysync.golang.template.errors import NotEvaluated, TemplateError
from whysync.golang.template.execute import execute
from whysync.golang.template.values import StringMap, from_json
from whysync.json_tree import Json, Object, fields, items, text

RECORDED: Final = fields(msgspec.json.decode(Path(__file__).with_name("recorded.json").read_bytes()))
GO_TEMPLATES: Final = [fields(row) for row in items(RECORDED["goTemplates"])]
FAST_TEMPLATES: Final = [fields(row) for row in items(RECORDED["fastTemplates"])]
# Equal YAML with other quotes.
_OTHER_QUOTES: Final = "toYaml"


def params() -> Object:
    maps = fields(RECORDED["stringMaps"])
    return {**fields(from_json(RECORDED["params"])), **{key: StringMap(fields(maps[key])) for key in maps}}


def output(template: str, options: tuple[str, ...] = ()) -> str | None:
    """The text, or `None` where Go reports an error."""
    try:
        return Renderer(is_go=True, options=options).text(template, params())
    except TemplateError:
        return None


@pytest.mark.parametrize("row", GO_TEMPLATES, ids=lambda row: text(row["template"])[:60])
def test_go_templates(row: Object) -> None:
    template = text(row["template"])
    found: list[Json] = [output(template, ("missingkey=error",)), output(template)]
    recorded = [row["strict"], row["default"]]
    if _OTHER_QUOTES in template:
        found = [text(answer).replace("'", '"') for answer in found]
        recorded = [text(answer).replace("'", '"') for answer in recorded]
    assert found == recorded


@pytest.mark.parametrize("row", FAST_TEMPLATES, ids=lambda row: text(row["template"]))
def test_fast_templates(row: Object) -> None:
    renderer = Renderer()
    try:
        found = renderer.text(text(row["template"]), fields(RECORDED["fastParams"]))
    except TemplateError:
        found = None
    assert found == row["text"]


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TemplateError, match="unrecognized option: missingkey=nope"):
        Renderer(is_go=True, options=("missingkey=nope",)).text("{{ .a }}", {"a": "b"})


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ now }}", "time"),
        ("{{ uuidv4 }}", "random"),
        ("{{ randAlphaNum 5 }}", "random"),
        ("{{ keys . }}", "order is random"),
        ("{{ range keys . }}{{ . }}{{ end }}", "order is random"),
        ("{{ range until 90000 }}{{ range until 90000 }}{{ end }}{{ end }}", "steps"),
        ('{{ repeat 99999999 "x" }}', "too often"),
        ("{{ until 99999999 }}", "too long"),
        ('{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}', "levels deep"),
        ('{{ $x := repeat 100000 "x" }}{{ range until 99 }}{{ $x }}{{ end }}', "MiB"),
        ('{{ regexMatch "(x+x+)+y" (repeat 60 "x") }}', "takes too long"),
    ],
)
def test_what_is_not_evaluated(template: str, why: str) -> None:
    with pytest.raises(NotEvaluated, match=why):
        execute(template, {"a": 1.0, "b": 2.0}, FUNCTIONS)


def test_nothing_of_the_machine_is_visible() -> None:
    for function in ("env", "expandenv", "getHostByName"):
        assert function not in FUNCTIONS
        with pytest.raises(TemplateError, match="not defined"):
            execute(f'{{{{ {function} "HOME" }}}}', {}, FUNCTIONS)
