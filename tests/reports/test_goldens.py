"""Whole reports of the examples, in every form, as they are in files beside this one (`make accept`)."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.golden import Golden
from tests.situations import EXAMPLES, application, case_of, config_map, row
from whysync import app
from whysync.diagnosis.report import Report
from whysync.json_tree import Object
from whysync.reports import (
    diagnose_html,
    diagnose_json,
    diagnose_markdown,
    diagnose_short,
    diagnose_text,
    get_view,
    json_yaml,
    list_html,
    list_view,
)
from whysync.reports.terminal import Terminal

HERE = Path(__file__).parent


def report_of(*bundles: Path) -> Report:
    return app.diagnose(app.cases(app.read(app.FactSource(bundles=tuple(map(str, bundles))))))


def _without_skipped(document: diagnose_json.ReportV1) -> diagnose_json.ReportV1:
    """The report without skipped rules, so that a new rule does not change the goldens."""
    apps = tuple(msgspec.structs.replace(app, skipped=()) for app in document.apps)
    return msgspec.structs.replace(document, apps=apps)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_in_every_form(example: Path, golden: Golden) -> None:
    report, folder = report_of(example), HERE / example.stem
    folder.mkdir(exist_ok=True)
    golden(folder / "text.txt", diagnose_text.render(report, Terminal(width=80)))
    golden(folder / "wide.txt", diagnose_text.render(report, Terminal(width=120), wide=True))
    golden(folder / "ascii.txt", diagnose_text.render(report, Terminal(width=80, unicode=False)))
    golden(folder / "report.md", diagnose_markdown.render(report))
    golden(folder / "report.json", json_yaml.as_json(_without_skipped(diagnose_json.report_v1(report))))
    cases = [app.case for app in report.apps]
    golden(folder / "get.txt", get_view.render(cases, Terminal(width=80), format="text", show_operation=True))


def test_the_fleet_in_every_form(golden: Golden) -> None:
    report, folder = report_of(*EXAMPLES), HERE / "fleet"
    folder.mkdir(exist_ok=True)
    golden(folder / "text.txt", list_view.render(report, Terminal(width=80)))
    golden(folder / "wide.txt", list_view.render(report, Terminal(width=80), wide=True))
    golden(folder / "list.md", list_view.as_markdown(report))
    golden(folder / "list.json", json_yaml.as_json(list_view.as_object(report)))
    golden(folder / "list.html", list_html.render(report))
    golden(folder / "diagnose.html", diagnose_html.render(report, fleet=True))
    golden(folder / "short.txt", diagnose_short.render(report, fleet=True))


ODD: dict[str, list[Object]] = {
    "nothing_wrong": [application()],
    "never_compared": [application(sync="", health="", status={"reconciledAt": None})],
    "unexplained": [application(health="Degraded")],
    "sync_running": [
        application(
            sync="OutOfSync",
            status={"operationState": {"phase": "Running", "startedAt": "2026-03-02T03:09:30Z"}},
        )
    ],
    "gaps": [
        application(sync="Unknown", health="Unknown"),
        {
            "apiVersion": "whysync.dev/v1",
            "kind": "Bundle",
            "gaps": [{"what": f"logs of pod {n}", "why": "forbidden", "howToGet": "ask"} for n in range(7)],
        },
    ],
    "long_words": [
        application(
            sync="OutOfSync",
            status={"resources": [row("ConfigMap", "settings", "OutOfSync")]},
        ),
        config_map(data={"file": "line of the file in Git\n" * 40}, desired=True),
        config_map(data={"file": "x" * 500}),
    ],
}


@pytest.mark.parametrize("name", ODD)
def test_odd_situations_on_a_terminal(name: str, golden: Golden) -> None:
    case = case_of(*ODD[name])
    report = app.diagnose([case])
    (HERE / "odd").mkdir(exist_ok=True)
    golden(HERE / "odd" / f"{name}.txt", diagnose_text.render(report, Terminal(width=80)))
    golden(HERE / "odd" / f"{name}.md", diagnose_markdown.render(report))


def test_what_is_encoded_decodes_to_the_same() -> None:
    document = diagnose_json.report_v1(report_of(*EXAMPLES))
    again = msgspec.json.decode(json_yaml.as_json(document), type=diagnose_json.ReportV1)
    assert again == document


@pytest.mark.parametrize("format", ["json", "yaml"])
def test_get_gives_the_application_as_it_is(format: str) -> None:
    case = report_of(EXAMPLES[0]).apps[0].case
    text = get_view.render([case], Terminal(), format=format, show_operation=False)
    if format == "json":
        assert json.loads(text) == case.application.body
    both = get_view.render([case, case], Terminal(), format=format, show_operation=False)
    assert both.count("kind: Application" if format == "yaml" else '"kind": "Application"') == 2
