"""Evidence keys: what findings of several apps must share to be called one cause."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.diagnosis.evidence_key import image_key, key_of_failure, registry_of
from whysync.diagnosis.finding import EvidenceKey, KeyKind
from whysync.diagnosis.report import AppReport
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose, groups_of
from whysync.json_tree import dig, fields
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import PullProblem

LOAD = (
    "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code ="
    " Unknown desc = "
)


def compared(name: str, message: str, *, repo: str = "", server: str = "") -> AppReport:
    body = application(
        name,
        sync="Unknown",
        status={
            "conditions": [
                {"type": "ComparisonError", "message": message, "lastTransitionTime": "2026-03-02T03:00:00Z"}
            ]
        },
    )
    if repo:
        fields(dig(body, "spec", "source"))["repoURL"] = repo
    if server:
        fields(dig(body, "spec", "destination"))["server"] = server
    return diagnose(case_of(body), diagnosis_rules())


def groups(*reports: AppReport) -> list[tuple[str, ...]]:
    return [group.apps for group in groups_of(reports)]


def test_one_host_that_is_down_is_one_cause() -> None:
    down = "failed to list refs: dial tcp: lookup git.example.com on 10.96.0.10:53: no such host"
    first, two = compared("one", LOAD + down), compared("two", LOAD + down)
    assert groups(first, two) == [("argocd/one", "argocd/two")]
    assert first.first is not None
    assert first.first.key == EvidenceKey(kind=KeyKind.HOST, name="git.example.com", detail="dns")
    (group,) = groups_of([first, two])
    assert group.key == first.first.key


def test_two_hosts_are_two_causes() -> None:
    text = "failed to list refs: dial tcp: lookup {} on 10.96.0.10:53: no such host"
    first, two = (compared(name, LOAD + text.format(f"{name}.example.com")) for name in ("one", "two"))
    assert first.first is not None
    assert two.first is not None
    assert (first.first.rule, first.first.cause) == (two.first.rule, two.first.cause)
    assert groups(first, two) == [("argocd/one",), ("argocd/two",)]


def test_two_repositories_with_rejected_credentials_are_two_causes() -> None:
    text = LOAD + "authentication required: Repository not found."
    reports = [compared(name, text, repo=f"https://git.example.com/{repo}") for name, repo in
               (("one", "a"), ("two", "a.git"), ("three", "b"))]  # fmt: skip
    assert groups(*reports) == [("argocd/one", "argocd/two"), ("argocd/three",)]


KEYS = {
    'admission webhook "policy.example.com" denied the request: no': (
        KeyKind.WEBHOOK, "policy.example.com", "no",
    ),
    'exceeded quota: compute, requested: pods=1, used: pods=10, limited: pods=10': (
        KeyKind.QUOTA, "shop/compute", "pods=10",
    ),
    'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post '
    '"https://hook.hooks.svc:443/validate?timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused': (
        KeyKind.WEBHOOK, "hook.example.com", "refused",
    ),
    'namespaces "shop" not found': (KeyKind.NAMESPACE, "shop", ""),
    'dial tcp 10.0.1.45:5432: connect: connection refused': (KeyKind.ADDRESS, "10.0.1.45:5432", "refused"),
}  # fmt: skip


@pytest.mark.parametrize("text", KEYS)
def test_what_a_failure_names(text: str) -> None:
    case = case_of(application())
    (failure,) = understand(text).failures
    key = key_of_failure(failure, case, case.application.ref)
    assert key is not None
    assert (key.kind, key.name, key.detail) == KEYS[text]
    in_cluster = key.kind is not KeyKind.ADDRESS
    assert key.scope == (case.app.spec.destination.server if in_cluster else "")


def test_what_concerns_one_object_has_no_key_of_its_own() -> None:
    case = case_of(application())
    (failure,) = understand("spec.selector: Invalid value: field is immutable").failures
    assert key_of_failure(failure, case, case.application.ref) is None


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("nginx", "docker.io"),
        ("bitnami/redis:7", "docker.io"),
        ("localhost/web", "localhost"),
        ("registry:5000/web", "registry:5000"),
        ("ghcr.io/acme/web@sha256:0", "ghcr.io"),
    ],
)
def test_the_registry_of_an_image(image: str, registry: str) -> None:
    assert registry_of(image) == registry


def test_a_registry_is_the_key_only_of_what_it_refuses_to_all() -> None:
    case = case_of(application())

    def named(reason: PullProblem, *secrets: str) -> str:
        key = image_key(case, "ghcr.io/acme/web:1", reason, secrets)
        return f"{key.kind} {key.name} {key.detail}" if key else ""

    assert named(PullProblem.TOO_MANY_REQUESTS) == "registry ghcr.io toomanyrequests"
    assert named(PullProblem.UNAUTHORIZED, "pull") == "registry ghcr.io unauthorized pull"
    assert named(PullProblem.UNAUTHORIZED) == "image ghcr.io/acme/web:1 unauthorized"
    assert named(PullProblem.NOT_FOUND) == "image ghcr.io/acme/web:1 not-found"
    assert image_key(case, "", PullProblem.NOT_FOUND) is None
