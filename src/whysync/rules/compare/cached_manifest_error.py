"""The error is an old answer that Argo CD keeps repeating.

## What happens
After three failures in a row for one revision, `repo-server` stops trying for an hour and answers
`Manifest generation error (cached): …` with the last error it saw. What was wrong may have been
mended meanwhile (a remote base, a chart registry, a credential, a plugin), and the Application
still shows it.

## How whysync knows
The word `(cached)` in the condition. If the branch has moved past the revision that was compared,
the error is one that passes by itself (a registry that was away), or it names nothing that could be
mended in Git, the cache is the likely cause; otherwise the error inside comes first, and this is the
reason why mending it may not show at once.

## Fix
A hard refresh makes Argo CD ask anew. If the same error comes back without the word `(cached)`, it
is real.

## When it is something else
A message without `(cached)` is fresh: a hard refresh will not help.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.failures import cite_text
from whysync.diagnosis.reported_texts import ReportedText, reported_texts_of
from whysync.diagnosis.symptom import SymptomKind
from whysync.messages.failure import Unknown
from whysync.messages.parse import Message, understand
from whysync.queries.commands import hard_refresh

_PASSING = (
    "Service Unavailable", "Bad Gateway", "Gateway Time", "502", "503", "504", "i/o timeout",
    "TLS handshake timeout", "connection refused", "connection reset", "Client.Timeout", "no such host",
    "context deadline exceeded", "Too Many Requests",
)  # fmt: skip


@rule(cause="cached-error", since="0.1")
def cached_manifest_error(case: Case) -> Iterator[Finding]:
    cached = tuple(_cached(case))
    if not cached:
        return
    spoken, message = cached[0]
    symptoms = tuple(dict.fromkeys(s.symptom for s, _ in cached if s.symptom in case.symptom_ids))
    moved = tuple(s for s in case.symptoms if s.kind is SymptomKind.BEHIND)
    unexplained = all(isinstance(failure, Unknown) for failure in message.failures)
    passing = _may_be_over(spoken.text)
    is_the_bet = bool(moved) or unexplained or passing
    yield Finding(
        about=case.application.ref,
        field="/status/conditions",
        explains=(*symptoms, *(s.id for s in moved)),
        because=() if is_the_bet else symptoms,
        severity=Severity.CRITICAL if is_the_bet else Severity.INFO,
        confidence=Confidence.HIGH if moved or passing else Confidence.MEDIUM,
        verdict=(
            f"Argo CD repeats a cached error; {moved[0].text}"
            if moved
            else "Argo CD repeats a cached error for up to an hour: what it names may be mended already"
        ),
        evidence=(cite_text(spoken, says="`(cached)`: an old answer, repeated"), *_compared(case)),
        fixes=(Fix.run(hard_refresh(case), title="Hard refresh: make Argo CD render anew"),),
    )


def _may_be_over(text: str) -> bool:
    """A host that was away is back some day, and nothing in Git tells of it."""
    return any(word in text for word in _PASSING)


def _cached(case: Case) -> Iterator[tuple[ReportedText, Message]]:
    for spoken in reported_texts_of(case):
        message = understand(spoken.text)
        if message.cached and spoken.symptom in case.symptom_ids:
            yield spoken, message


def _compared(case: Case) -> Iterator[Evidence]:
    if case.app.status.sync.revision:
        yield cite(case.application, "/status/sync/revision", says="the revision it was compared with")
