"""The alerts: only metrics and labels that Argo CD has, runbooks that name what whysync knows."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.argocd_metrics import METRICS
from tests.cli.running import Whysync
from tests.situations import ROOT, application
from whysync.alerts.catalog import Alert, alerts_of
from whysync.alerts.limits import AlertLimits, Scope, duration
from whysync.alerts.runbook import untemplated
from whysync.diagnosis.rule import diagnosis_rules
from whysync.json_tree import Json, fields, items, text

ALERTS = alerts_of(Scope(), AlertLimits())
WORDS = {"by", "max", "sum", "or", "unless", "offset", "increase", "changes", "count", "absent"}
EXAMPLE = str(ROOT / "examples" / "autoscaler-loop")


def by_name(alert: Alert) -> str:
    return alert.name


def without_strings(expr: str) -> str:
    return re.sub(r'"[^"]*"', '""', expr)


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_only_metrics_and_labels_that_argocd_has(alert: Alert) -> None:
    bare = without_strings(alert.expr)
    used = set(re.findall(r"argocd_\w+", bare))
    assert used
    assert used <= set(METRICS)
    labels = {label for metric in used for label in METRICS[metric]}
    for block in re.findall(r"{(.*?)}", bare):
        assert set(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", block)) <= labels
    for grouping in re.findall(r"by \((.*?)\)", bare):
        assert set(grouping.split(", ")) <= labels
    outside = re.sub(r"{.*?}|by \(.*?\)|\[.*?\]|argocd_\w+", "", bare)
    assert set(re.findall(r"[a-z_]{2,}", outside)) <= WORDS


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_the_text_names_labels_that_the_answer_has(alert: Alert) -> None:
    labels = {label for group in re.findall(r"by \((.*?)\)", alert.expr) for label in group.split(", ")}
    matches = set(re.findall(r"\$labels\.(\w+)", alert.summary + alert.description))
    assert matches <= labels


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_likely_causes_are_rules(alert: Alert) -> None:
    assert alert.causes
    assert set(alert.causes) <= {rule.id for rule in diagnosis_rules()}


def test_each_alert_has_all_that_a_person_needs(whysync: Whysync) -> None:
    result = whysync("alerts")
    assert result.code == 0
    rules = rules_in(result.out)
    assert [rule["alert"] for rule in rules] == [alert.name for alert in ALERTS]
    for rule in rules:
        notes = fields(rule["annotations"])
        assert text(notes["summary"])
        assert text(notes["description"])
        assert "whysync explain" in text(notes["runbook"])
        assert text(fields(rule["labels"])["severity"]) in ("info", "warning", "critical")
        if "$labels.name" in text(rule["expr"]) or "name, project" in text(rule["expr"]):
            assert "whysync diagnose {{ $labels.namespace }}/{{ $labels.name }}" in text(notes["runbook"])


def rules_in(out: str) -> list[dict[str, Json]]:
    groups = items(fields(yaml.safe_load(out))["groups"])
    return [fields(rule) for group in groups for rule in items(fields(group)["rules"])]


def test_limits_and_choices(whysync: Whysync) -> None:
    result = whysync(
        "alerts", "--alert", "ArgoCDSyncStuck", "--stuck", "90m", "-n", "argocd", "--project", "a.b"
    )
    (rule,) = rules_in(result.out)
    assert rule["for"] == "1h30m"
    assert 'namespace="argocd",project="a.b",operation="sync"' in text(rule["expr"])
    names = {text(rule["alert"]) for rule in rules_in(whysync("alerts", "--skip", "ArgoCDSyncStuck").out)}
    assert names == {alert.name for alert in ALERTS} - {"ArgoCDSyncStuck"}
    wrong = whysync("alerts", "--alert", "Nothing")
    assert wrong.code == 2
    assert "ArgoCDSyncStuck" in wrong.err


def test_two_namespaces_are_one_pattern() -> None:
    scope = Scope(namespaces=("argocd", "team.a"), namespace_label="exported_namespace")
    assert scope.matchers() == r'{exported_namespace=~"argocd|team\\.a"}'
    stuck = alerts_of(scope, AlertLimits())[0]
    assert "max by (exported_namespace, name, project)" in stuck.expr
    assert "{{ $labels.exported_namespace }}" in stuck.summary


def test_alerts_on_argocd_itself_are_for_all_apps() -> None:
    narrowed = {alert.name for alert in alerts_of(Scope(projects=("shop",)), AlertLimits())}
    assert {alert.name for alert in ALERTS} - narrowed == {
        "ArgoCDRepositoryFails",
        "ArgoCDClusterUnreachable",
        "ArgoCDDoesNotReconcile",
        "ArgoCDGivesNoMetrics",
    }


def test_the_object_of_the_operator(whysync: Whysync) -> None:
    result = whysync("alerts", "-o", "prometheusrule", "--rule-namespace", "monitoring")
    document = fields(yaml.safe_load(result.out))
    assert (document["kind"], document["apiVersion"]) == ("PrometheusRule", "monitoring.coreos.com/v1")
    assert document["metadata"] == {"name": "argocd", "namespace": "monitoring"}
    assert fields(document["spec"])["groups"]


def test_links_lead_to_the_page(whysync: Whysync) -> None:
    url = "https://wiki.example.com/argocd"
    rules = rules_in(whysync("alerts", "--runbook-url", url).out)
    links = [text(fields(rule["annotations"])["runbook_url"]) for rule in rules]
    page = whysync("alerts", "-o", "markdown").out
    headings = {line[3:].lower() for line in page.splitlines() if line.startswith("## ")}
    assert {link.removeprefix(f"{url}#") for link in links} == headings
    assert "{{" not in page


def test_of_one_app_with_its_diagnosis(whysync: Whysync) -> None:
    result = whysync("alerts", "--for-app", "my-api-service", "--bundle", EXAMPLE, "--no-proof")
    assert result.code == 0, result.err
    for rule in rules_in(result.out):
        assert 'name="' in text(rule["expr"])
        book = text(fields(rule["annotations"])["runbook"])
        assert "whysync reported for" in book
        assert "autoscaler" in book.lower()


@pytest.mark.parametrize(
    "flags", [["--bundle", "/nonexistent"], ["--bundle", "-"], ["--server", "x"], ["--core"]]
)
def test_a_source_of_facts_needs_an_app(whysync: Whysync, flags: list[str]) -> None:
    result = whysync("alerts", *flags)
    assert result.code == 2
    assert "--for-app" in result.err
    assert not result.out


def test_words_of_a_cluster_are_no_template(whysync: Whysync) -> None:
    message = 'helm template failed: {{ template "x" . }} {{ $labels.name }}'
    odd = application(
        "odd",
        sync="Unknown",
        status={"conditions": [{"type": "ComparisonError", "message": message}]},
    )
    result = whysync(
        "alerts", "--for-app", "odd", "--bundle", "-", "--no-proof", stdin=json.dumps(odd).encode()
    )
    assert result.code == 0, result.err
    for rule in rules_in(result.out):
        book = text(fields(rule["annotations"])["runbook"])
        assert "{{ template" not in book
        assert '{{ "{{" }} template' in book


@given(st.text(alphabet='{} "$ab', max_size=12))
def test_a_template_prints_the_text_unchanged(text: str) -> None:
    assert untemplated(text).replace('{{ "{{" }}', "\0").replace("\0", "{{") == text
    assert "{{" not in untemplated(text).replace('{{ "{{" }}', "")


@given(st.integers(1, 10**7))
def test_durations_are_of_prometheus(seconds: int) -> None:
    written = duration(seconds)
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1}
    assert sum(int(n) * units[u] for n, u in re.findall(r"(\d+)([dhms])", written)) == seconds


def test_a_label_must_be_a_label(whysync: Whysync) -> None:
    assert whysync("alerts", "--namespace-label", 'a"b').code == 2
