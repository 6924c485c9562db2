"""Argo CD repeats a cached manifest generation error.

## What happens
After three consecutive failures for one revision, the repo-server stops retrying for an hour and returns
`Manifest generation error (cached): …` with the last error. The problem may already be fixed (a remote
base, a chart registry, a credential, a plugin), but the Application still shows it.

## How whysync knows
The condition contains `(cached)`. The cache is the likely cause if the branch is ahead of the compared
revision, if the error is temporary (a registry was unavailable), or if it names nothing that could be fixed
in Git. Otherwise the inner error is the cause, and the cache only explains why a fix may not show at once.

## Fix
Hard refresh: Argo CD renders again. If the same error comes back without `(cached)`, it is current.

## When it is something else
A message without `(cached)` is current: a hard refresh does not help.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.failures import cite_text
from whysync.diagnosis.reported_texts import ReportedText
from whysync.diagnosis.symptom import SymptomKind
from whysync.messages.failed_step import Family
from whysync.messages.failure import Failure, Unknown
from whysync.messages.infer_family import FamilyFailure
from whysync.messages.parse import Message, understand
from whysync.queries.commands import hard_refresh

_TEMPORARY = (
    "Service Unavailable", "Bad Gateway", "Gateway Time", "502", "503", "504", "i/o timeout",
    "TLS handshake timeout", "connection refused", "connection reset", "Client.Timeout", "no such host",
    "context deadline exceeded", "Too Many Requests",
)  # fmt: skip


@rule(cause="cached-error", since="0.1")
def cached_manifest_error(case: Case) -> Iterator[Finding]:
    cached = tuple(_cached(case))
    if not cached:
        return
    reported, message = cached[0]
    symptoms = tuple(dict.fromkeys(s.symptom for s, _ in cached if s.symptom in case.symptom_ids))
    moved = tuple(s for s in case.symptoms if s.kind is SymptomKind.BEHIND)
    unexplained = all(_is_unexplained(failure) for failure in message.failures)
    temporary = _is_temporary(reported.text)
    is_likely_cause = bool(moved) or unexplained or temporary
    yield Finding(
        about=case.application.ref,
        field="/status/conditions",
        explains=(*symptoms, *(s.id for s in moved)),
        because=() if is_likely_cause else symptoms,
        severity=Severity.CRITICAL if is_likely_cause else Severity.INFO,
        confidence=Confidence.HIGH if moved or temporary else Confidence.MEDIUM,
        verdict=(
            f"Argo CD repeats a cached error; {moved[0].text}"
            if moved
            else "Argo CD repeats a cached error for up to an hour: the problem may already be fixed"
        ),
        evidence=(cite_text(reported, says="`(cached)`: a repeated old error"), *_compared(case)),
        fixes=(Fix.run(hard_refresh(case), title="Hard refresh: Argo CD renders again"),),
    )


def _is_unexplained(failure: Failure) -> bool:
    """Does nothing in it show what failed? An error of which the step is known is the cause itself."""
    if isinstance(failure, FamilyFailure):
        return failure.family is Family.CACHED
    return isinstance(failure, Unknown)


def _is_temporary(text: str) -> bool:
    """Is it an outage of a host, which ends without a change in Git?"""
    return any(word in text for word in _TEMPORARY)


def _cached(case: Case) -> Iterator[tuple[ReportedText, Message]]:
    for reported in case.reported_texts:
        message = understand(reported.text)
        if message.cached and reported.symptom in case.symptom_ids:
            yield reported, message


def _compared(case: Case) -> Iterator[Evidence]:
    if case.app.status.sync.revision:
        yield cite(case.application, "/status/sync/revision", says="the compared revision")
