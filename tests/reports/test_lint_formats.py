"""What lint found, in each form that CI takes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

from tests.lint.found import in_file
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.fix import Fix
from whysync.kubernetes.api.ref import Ref
from whysync.lint.check_tree import lint_rules
from whysync.lint.outcome import Outcome, Suppressed
from whysync.manifests.files import Note
from whysync.reports import lint_json, lint_markdown, lint_text
from whysync.reports.annotations import github, gitlab, junit, sarif
from whysync.reports.annotations.lint_rows import lint_rows
from whysync.reports.terminal import Terminal

WEB = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="web")
ODD = in_file(
    "apps/shop, 1/we:b.yaml",
    '100% <b>no</b> field | "spec.replica"\nsecond line ::error::',
    rule="unknown_field",
    line=7,
    about=WEB,
    field="/spec/replica",
    hint="did you mean replicas?",
    fixes=(Fix.change(WEB, title="Call it replicas"),),
)
MILD = in_file("apps/hook.yaml", "no deadline", rule="hook_without_deadline", line=3, severity=Severity.INFO)
OUTCOME = Outcome(
    findings=(MILD, ODD),
    notes=(Note(path="chart", why="not rendered"), Note(path="", why="odd `note`\x1b[31m", matters=True)),
    suppressed=(Suppressed(finding=MILD, reason="it is <fine>", how="comment"),),
    files=3,
    objects=4,
    in_baseline=2,
)
MANY = Outcome(findings=(ODD,) * 5_000, notes=OUTCOME.notes * 500, files=1, objects=1)


def test_sarif_has_what_viewers_need() -> None:
    log = json.loads(sarif.render(lint_rows(OUTCOME), lint_rules(), OUTCOME.notes))
    assert log["version"] == "2.1.0"
    assert log["$schema"] == sarif.SCHEMA
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(rule["id"] for rule in rules)
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    levels = {"error", "warning", "note", "none"}
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in levels
        assert result["message"]["text"]
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["region"]["startLine"] >= 1
        uri = physical["artifactLocation"]["uri"]
        assert not uri.startswith("/")
        assert " " not in uri
        assert result["partialFingerprints"]["whysync/v1"]
    assert len({entry["partialFingerprints"]["whysync/v1"] for entry in run["results"]}) == 3
    assert [
        entry["suppressions"][0]["justification"] for entry in run["results"] if "suppressions" in entry
    ] == ["it is <fine>"]


def test_fingerprints_do_not_know_lines() -> None:
    moved = Outcome(findings=(in_file("b", "m", rule="a", line=1),))
    same = Outcome(findings=(in_file("b", "m", rule="a", line=9),))
    assert (
        json.loads(gitlab.render(lint_rows(moved)))[0]["fingerprint"]
        == json.loads(gitlab.render(lint_rows(same)))[0]["fingerprint"]
    )


def test_junit_is_xml_with_failures_from_a_severity_on() -> None:
    suite = ElementTree.fromstring(
        junit.render("whysync lint", lint_rows(OUTCOME), fail_on=Severity.WARNING)
    )[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [case.find("failure") is not None for case in suite] == [False, True, False]
    strict = ElementTree.fromstring(junit.render("whysync lint", lint_rows(OUTCOME), fail_on=Severity.INFO))[
        0
    ]
    assert strict.get("failures") == "2"
    empty = ElementTree.fromstring(junit.render("whysync lint", ()))[0]
    assert (empty.get("tests"), len(empty)) == ("1", 1)


def test_github_gets_one_command_a_line_that_nothing_escapes_from() -> None:
    first, second = github.render(lint_rows(OUTCOME)).splitlines()
    assert first.startswith(
        "::error file=apps/shop%2C 1/we%3Ab.yaml,line=7,title=unknown_field::100%25 <b>no</b>"
    )
    assert second == "::notice file=apps/hook.yaml,line=3,title=hook_without_deadline::no deadline"


def test_gitlab_knows_the_severities() -> None:
    document = json.loads(gitlab.render(lint_rows(OUTCOME)))
    assert [entry["severity"] for entry in document] == ["info", "critical"]
    assert set(document[0]) == {"description", "check_name", "fingerprint", "severity", "location"}


def test_markdown_leads_with_the_verdict_and_escapes_what_it_shows() -> None:
    text = lint_markdown.render(OUTCOME)
    assert text.startswith("## 🔴 whysync lint: 1 critical, 1 info\n")
    assert text.index("unknown\\_field") < text.index("hook\\_without\\_deadline")
    assert "\\<b\\>no" in text
    assert "\x1b" not in text


def test_markdown_always_fits_a_comment() -> None:
    text = lint_markdown.render(MANY)
    assert 50_000 < len(text) <= lint_markdown.LONGEST
    assert "more, for which there is no room here" in text
    assert "Not checked (1000)" in text


def test_nothing_found() -> None:
    assert lint_markdown.render(Outcome(files=2, objects=3)) == (
        "## ✅ whysync lint: nothing found\n\n3 objects in 2 files.\n"
    )
    assert (
        lint_text.render(Outcome(files=1, objects=1), Terminal()) == "✓ nothing found: 1 object in 1 file\n"
    )
    assert github.render(lint_rows(Outcome())) == ""


def test_nothing_to_check_has_no_green_mark() -> None:
    assert lint_text.render(Outcome(files=1), Terminal()) == "· nothing to check: 0 objects in 1 file\n"
    assert "✅" not in lint_markdown.render(Outcome(files=1))


def test_json_is_version_1() -> None:
    document = json.loads(lint_json.render(OUTCOME))
    assert document["version"] == 1
    assert document["summary"] == {
        "critical": 1,
        "warning": 0,
        "info": 1,
        "suppressed": 1,
        "inBaseline": 2,
        "files": 3,
        "objects": 4,
    }
    assert document["findings"][1]["object"]["name"] == "web"
    assert document["findings"][1]["fix"] == {"title": "Call it replicas", "safe": False}


def test_the_terminal_gets_no_control_characters_and_knows_ascii() -> None:
    text = lint_text.render(OUTCOME, Terminal(unicode=False), wide=True)
    assert "\x1b" not in text
    assert "x 1 critical, 1 info: 4 objects in 3 files (1 ignored on purpose, 2 in the baseline)\n" in text
    assert "ignored  apps/hook.yaml:3  hook_without_deadline: it is <fine>" in text
