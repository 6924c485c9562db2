"""The first cause of error texts that Argo CD and its tools can produce, each inside its wrappers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.messages.upstream_texts import GROUPS
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.messages.pasted import Origin, PastedMessage
from whysync.queries.pasted_case import case_of_parts

NONE = "none"


def rows() -> Iterator[tuple[PastedMessage, frozenset[str]]]:
    for group in GROUPS:
        for causes, tool_output in group.texts:
            message = PastedMessage(
                origin=group.origin, reason=group.condition, text=group.wrapper + tool_output
            )
            yield message, frozenset(causes.split())


@pytest.mark.parametrize(
    ("message", "causes"), list(rows()), ids=lambda value: getattr(value, "text", "")[-60:]
)
def test_the_first_cause_is_one_that_the_text_can_have(
    message: PastedMessage, causes: frozenset[str]
) -> None:
    first = diagnose(case_of_parts([message]), diagnosis_rules()).first
    assert (NONE if first is None else first.cause) in causes


@pytest.mark.parametrize(
    "tool_output",
    [
        "permission denied",
        "authentication required",
        "context deadline exceeded",
        "dial tcp 192.0.2.9:8200: connect: connection refused",
        "x509: certificate signed by unknown authority",
        "open /etc/creds: no such file or directory",
        "Unauthorized",
        "403 Forbidden",
        "yaml: line 3: did not find expected key",
        'secrets "db" not found',
        'no matches for kind "Foo" in version "example.com/v1"',
        "an error of which nobody has heard",
    ],
)
@pytest.mark.parametrize(
    ("wrapper", "cause"),
    [
        ("`render-it .` failed exit status 1: ", "plugin"),
        ("`bash -c 'a | b'` failed exit status 1: Error: ", "plugin"),
        ("plugin sidecar failed. error generating manifests in cmp: ", "plugin"),
        ("`helm template . --name-template web` failed exit status 1: Error: ", "helm-render"),
        ("`kustomize build /tmp/x/overlays` failed exit status 1: Error: ", "kustomize-build"),
    ],
)
def test_what_a_tool_prints_is_a_failure_of_that_tool(wrapper: str, cause: str, tool_output: str) -> None:
    text = (
        "Failed to load target state: failed to generate manifest for source 1 of 1: "
        f"rpc error: code = Unknown desc = {wrapper}{tool_output}"
    )
    message = PastedMessage(origin=Origin.CONDITION, reason="ComparisonError", text=text)
    first = diagnose(case_of_parts([message]), diagnosis_rules()).first
    assert first is not None
    assert first.cause == cause
