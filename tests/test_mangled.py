"""Facts that make no sense: parts of the examples replaced by anything. No crash, every report is made."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.situations import EXAMPLES, world_of
from tests.trees import trees
from whysync import app
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Set
from whysync.fixes.edit import edited
from whysync.json_tree import Json, Object, copy_object, fields
from whysync.kubernetes.api import pointer
from whysync.kubernetes.api.yaml import Document, documents
from whysync.reports import diagnose_json, diagnose_markdown, diagnose_text, get_view, json_yaml, list_view
from whysync.reports.terminal import Terminal


def _objects() -> list[list[Object]]:
    """Each example as a list of objects; what Git wants is marked as such."""
    result: list[list[Object]] = []
    for example in EXAMPLES:
        files = sorted(example.rglob("*.yaml")) if example.is_dir() else [example]
        every: list[Object] = []
        for file in files:
            for document in documents(file.read_text()):
                assert isinstance(document, Document)
                body = fields(document.body)
                if "desired" in file.parts:
                    body = edited(
                        body, [Set(pointer="/metadata/annotations/whysync.dev~1role", value="desired")]
                    )
                if body:
                    every.append(body)
        result.append(every)
    return result


WHOLE = _objects()


def places(tree: Json, at: str = "") -> list[str]:
    below: list[tuple[str | int, Json]] = []
    if isinstance(tree, dict):
        below = [*tree.items()]
    elif isinstance(tree, list):
        below = [*enumerate(tree)]
    return [at, *(place for part, value in below for place in places(value, pointer.child(at, part)))]


@st.composite
def mangled(draw: st.DrawFn) -> list[Object]:
    objects = [copy_object(item) for item in draw(st.sampled_from(WHOLE))]
    for _ in range(draw(st.integers(1, 4))):
        index = draw(st.integers(0, len(objects) - 1))
        at = draw(st.sampled_from(places(objects[index])))
        if at not in ("", "/apiVersion", "/kind", "/metadata", "/metadata/name"):
            objects[index] = edited(objects[index], [Set(pointer=at, value=draw(trees()))])
    return objects


@settings(max_examples=60)
@given(mangled())
def test_nonsense_crashes_nothing(objects: list[Object]) -> None:
    world = world_of(*objects)
    cases = [Case(world, manifest, decoded) for manifest, decoded in world.decoded]
    report = app.diagnose(cases)
    assert [crashed for app in report.apps for crashed in app.crashed] == []
    for text in (
        diagnose_text.render(report, Terminal(width=80)),
        diagnose_text.render(report, Terminal(width=40), wide=True),
        diagnose_markdown.render(report),
        list_view.render(report, Terminal()),
        json_yaml.as_json(diagnose_json.report_v1(report)),
        json_yaml.as_yaml(diagnose_json.report_v1(report)),
        get_view.render(cases, Terminal(), format="wide", show_operation=True),
    ):
        assert text.endswith("\n")
