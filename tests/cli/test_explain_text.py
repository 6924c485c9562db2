"""`whysync explain TEXT`: the causes of a pasted text are those that `diagnose` finds where it is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.running import Whysync
from tests.messages.test_pasted import APP_GET, DESCRIBED_POD
from tests.shared import CORPUS, needs_shared
from whysync import app
from whysync.cli.output_flags import OUTPUTS
from whysync.kubernetes.api import yaml

IMMUTABLE = (
    'one or more objects failed to apply, reason: Deployment.apps "web" is invalid:'
    " spec.selector: Invalid value: v1.LabelSelector{}: field is immutable"
)
REFUSED = "dial tcp 10.0.0.1:6379: connect: connection refused"


def causes(whysync: Whysync, text: str) -> list[str]:
    result = whysync("explain", "-", "-o", "json", stdin=text.encode())
    return [cause["cause"] for cause in json.loads(result.out)["causes"]]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (IMMUTABLE, "immutable-field"),
        ('Back-off pulling image "web:1"', "image-pull"),
        ("OOMKilled", "oom"),
        ("CrashLoopBackOff", "crashloop"),
        ("0/3 nodes are available: 3 Insufficient cpu.", "unschedulable"),
        ("deploy/prod: app path does not exist", "path-not-found"),
        ("ComparisonError\ndeploy/prod: app path does not exist", "path-not-found"),
        ("waiting for completion of hook batch/Job/migrate", "hook-stuck"),
        (DESCRIBED_POD, "oom"),
        (
            "  Warning  SyncLoadBalancerFailed  3m  service-controller  Error syncing load balancer: quota",
            "lb-pending",
        ),
        (
            "  Warning  ProvisioningFailed  3m  ebs.csi.aws.com  failed to provision volume: no quota",
            "pvc-pending",
        ),
        ("  Warning  FailedPreStopHook  3m  kubelet  PreStopHook failed", "degraded-workload"),
        ("ignored (requires pruning)", "pending-prune"),
        ("ignored (no prune)", "prune-blocked"),
        ("`helm template .` failed signal: killed", "repo-server-down"),
        ("Exit Code: 137", "degraded-workload"),
        ("converting (v1.CronJob) to (v1beta1.CronJob): unknown conversion", "deprecated-api"),
        ('time: invalid duration "3 minutes"', "settings-malformed"),
        (
            "rpc error: code = Unauthenticated desc = invalid session: token has invalid claims: token is"
            " expired",
            "argocd-login",
        ),
        (
            'time="2026-03-02T03:00:01Z" level=error msg="ComparisonError: deploy: app path does not exist"',
            "path-not-found",
        ),
        ('hello,\nsince today we get\n  namespaces "web" not found\nany ideas?', "namespace-missing"),
    ],
)
def test_the_first_cause(whysync: Whysync, text: str, first: str) -> None:
    assert causes(whysync, text)[:1] == [first]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('Metric "error-rate" assessed Failed due to failed (1) > failureLimit (0)', "Rollout"),
        ("Waiting for rollout to finish: 1 old replicas are pending termination...", "Deployment"),
        ('Deployment "web" exceeded its progress deadline', "Deployment"),
        ("missing request for cpu in container web of Pod web-1", "HorizontalPodAutoscaler"),
        ("Failed to create pod sandbox: rpc error: code = Unknown desc = no network", "Pod"),
    ],
)
def test_a_message_about_a_workload_names_the_kind_that_reports_it(
    whysync: Whysync, text: str, kind: str
) -> None:
    assert causes(whysync, text) == ["degraded-workload"]
    assert f"{kind} NAMESPACE/" in whysync("explain", text).out


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("CRD is not established", "CustomResourceDefinition NAME is reported"),
        ("PodDisruptionBudget has InsufficientPods", "PodDisruptionBudget NAMESPACE/NAME is reported"),
    ],
)
def test_the_text_of_a_health_check_names_the_kind_that_it_checks(
    whysync: Whysync, text: str, about: str
) -> None:
    assert causes(whysync, text) == ["health-quirk"]
    shown = whysync("explain", text).out
    assert about in shown
    assert shown.count("kubectl ") == 1


def test_a_text_that_can_be_anywhere_has_no_list_of_places(whysync: Whysync) -> None:
    assert "read as" not in whysync("explain", "provided port is already allocated").out
    assert "read as" in whysync("explain", REFUSED).out


def test_each_place_can_have_its_own_cause(whysync: Whysync) -> None:
    """Redis of Argo CD, or of a program: the text alone does not tell."""
    assert causes(whysync, REFUSED) == ["argocd-cache-down", "crashloop"]
    out = whysync("explain", REFUSED).out
    assert "2 possible causes" in out
    assert out.count("confidence   medium") == 2
    assert "the log of a container that keeps crashing" in out


def test_an_answer_has_checks_a_fix_and_the_page(whysync: Whysync) -> None:
    result = whysync("explain", IMMUTABLE)
    assert result.code == 0
    assert "immutable-field: Deployment web: spec.selector" in result.out
    assert "argocd app get APP --show-operation" in result.out
    assert "    fix          " in result.out
    assert "whysync explain immutable_field_changed" in result.out


def test_names_in_the_text_are_used_and_others_are_placeholders(whysync: Whysync) -> None:
    assert (
        "kubectl -n shop describe pod web-6c5d8-abcde"
        in whysync("explain", "-", stdin=DESCRIBED_POD.encode()).out
    )
    assert "whysync diagnose shop " in whysync("explain", "-", stdin=APP_GET.encode()).out
    assert "kubectl -n NAMESPACE describe pod POD" in whysync("explain", "OOMKilled").out


def test_words_need_no_quotes(whysync: Whysync) -> None:
    assert whysync("explain", "Back-off", "pulling", "image", "web:1").out.startswith("✗ image-pull")


def test_an_id_is_an_id_and_a_known_word_is_a_text(whysync: Whysync) -> None:
    assert whysync("explain", "oom").out.startswith("container_oom_killed")
    assert whysync("explain", "OOMKilled").out.startswith("✗ oom")
    slip = whysync("explain", "crashlop")
    assert slip.code == 2
    assert "did you mean crashloop?" in slip.err


def test_what_follows_from_the_place_alone_is_no_answer(whysync: Whysync) -> None:
    """Every text would be a degraded workload if it were the message of one."""
    result = whysync("explain", "the frobnicator is sad")
    assert result.code == 3
    assert "not understood" in result.out
    assert "degraded-workload" not in result.out


def test_an_unknown_text_gets_its_side_and_who_reported_it(whysync: Whysync) -> None:
    out = whysync("explain", "Failed to load target state: the frobnicator is sad").out
    assert "not understood" in out
    assert "reported by  Failed to load target state" in out
    assert "Argo CD could not compare" in out
    out = whysync("explain", "one or more objects failed to apply").out
    assert "a failure without its reason" in out
    assert "argocd app get APP --show-operation" in out


def test_secrets_are_masked(whysync: Whysync) -> None:
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    text = f"Failed to load target state: https://bot:{token}@git.example.com/a.git: Authentication failed"
    for format in OUTPUTS:
        result = whysync("explain", text, "-o", format)
        assert token not in result.out + result.err


@pytest.mark.parametrize("format", OUTPUTS)
@pytest.mark.parametrize("text", [REFUSED, "the frobnicator is sad"])
def test_text_in_every_format(whysync: Whysync, text: str, format: str) -> None:
    result = whysync("explain", text, "-o", format)
    assert result.code in (0, 3)
    assert "Traceback" not in result.err
    if text == REFUSED:
        assert "argocd_cache_unavailable" in result.out


def test_yaml_holds_the_same_as_json(whysync: Whysync) -> None:
    document: Any = json.loads(whysync("explain", REFUSED, "-o", "json").out)
    assert yaml.load(whysync("explain", REFUSED, "-o", "yaml").out) == document
    assert document["causes"][0]["page"] == "docs/rules/argocd_cache_unavailable.md"


@pytest.mark.parametrize(
    ("stdin", "expected"),
    [
        (b"", "the text is empty"),
        (b" \n\t\n", "the text is empty"),
        (b"\x1b[0m\x07 \n", "the text is empty"),
        (bytes(range(128, 256)) * 100, "standard input is not text"),
        (b"\0" * 1000, "standard input is not text"),
        (b"it failed\n" * 1_000_000, "larger than 4 MiB"),
    ],
)
def test_bad_input(whysync: Whysync, stdin: bytes, expected: str) -> None:
    result = whysync("explain", "-", stdin=stdin)
    assert (result.code, result.out) == (2, "")
    assert expected in result.err


def test_control_characters_do_not_reach_the_terminal(whysync: Whysync) -> None:
    hostile = b'Failed to pull image "\x1b[2Jweb:1\x07": not found\n::error::x\n'
    out = whysync("explain", "-", stdin=hostile).out
    assert "image-pull" in out
    assert all(letter.isprintable() or letter == "\n" for letter in out)


@needs_shared
def test_bare_messages_of_real_cases() -> None:
    """Every sixth message of the corpus, without anything else of its case."""
    messages = list(_messages())[::6]
    answers = [(app.explained_text(text), accepted) for text, accepted in messages]
    causes = [[cause.finding.cause for cause in answer.causes] for answer, _ in answers]
    first = sum(bool(ids) and ids[0] in accepted for ids, (_, accepted) in zip(causes, answers, strict=True))
    wrong = sum(
        bool(ids) and accepted.isdisjoint(ids) for ids, (_, accepted) in zip(causes, answers, strict=True)
    )
    assert len(messages) >= 40
    assert first / len(messages) >= 0.8
    assert wrong / len(messages) <= 0.1


def _messages() -> Any:
    for name in ("cases.jsonl", "cases-2.jsonl"):
        for line in (CORPUS / name).read_text().splitlines():
            case = json.loads(line)
            evidence = case["evidence"]
            events, rows = evidence.get("events", [{}]), evidence.get("resources", [])
            texts = (
                evidence.get("condition", {}).get("message"),
                evidence.get("operation", {}).get("message"),
                evidence.get("logs"),
                events[0].get("message"),
                next((row["message"] for row in rows if row.get("message")), None),
            )
            text = next(filter(None, texts), None)
            if text:
                yield text, {case["cause"], *case["also_acceptable"]}


@pytest.mark.parametrize("text", ["Error: quantum flux broke", "panic: the widget is gone"])
def test_a_line_that_any_program_could_print_is_not_understood(whysync: Whysync, text: str) -> None:
    """It may be in the log of a container that crashes, but nothing shows that."""
    done = whysync("explain", text)
    assert done.out.startswith("? not understood: no rule matches exactly this text")
    assert "confidence   low" in done.out
    assert json.loads(whysync("explain", text, "-o", "json").out)["understood"] is False
