"""A Warning event whose text whysync does not recognize, but whose reason it does.

## What happens
A controller or the kubelet reports a problem with an object. The text is not in whysync's patterns; the
reason of the event (`FailedScheduling`, `FailedMount`, `ProvisioningFailed`) shows which step failed.

## How whysync knows
The reason of the event. The finding has the usual cause of that reason, quotes the text, and has low
confidence.

## Fix
Read the conditions and events of the object with the command shown.

## When it is something else
The quoted text is exact; the cause is the usual one for the reason. If the text contradicts the cause, trust
the text.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Finding, rule
from whysync.diagnosis.rule import VARIES
from whysync.diagnosis.symptom import Side, SymptomKind
from whysync.queries.unrecognized_errors import family_findings


@rule(cause=VARIES, since="0.1", last_resort=True)
def event_unrecognized(case: Case) -> Iterator[Finding]:
    yield from (finding for finding in family_findings(case, Side.HEALTH) if not _is_quoted_below(finding))


def _is_quoted_below(finding: Finding) -> bool:
    """`workload_degraded` follows an unhealthy resource to the last object, and quotes the same event."""
    unhealthy = any(symptom.kind is SymptomKind.UNHEALTHY for symptom in finding.explains)
    return unhealthy and finding.cause == "degraded-workload"
