"""The comparison fails with an error that whysync does not recognize exactly.

## What happens
Argo CD reports an error and compares nothing. whysync does not recognize the message, but it shows which step
failed: Git, Helm, Kustomize, a plugin, the registry, the cluster, or a setting of Argo CD.

## How whysync knows
The command that failed, the wrappers around the error, its gRPC code or HTTP status, or the class of the
Go error (`strconv`, `base64`, `json`, `net/url`). The finding has the cause of that step, and low confidence.
If only words of the error suggest a step, the finding quotes the error and asserts nothing else.

## Fix
Run the command shown: it repeats the failing step, or prints the log lines around it.

## When it is something else
The quoted error is exact; the cause is the usual one for that step. If the error contradicts it, trust the
error.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Finding, rule
from whysync.diagnosis.rule import VARIES
from whysync.diagnosis.symptom import Side
from whysync.queries.unrecognized_errors import family_findings


@rule(cause=VARIES, since="0.1", last_resort=True)
def comparison_error_unrecognized(case: Case) -> Iterator[Finding]:
    yield from family_findings(case, Side.COMPARE)
