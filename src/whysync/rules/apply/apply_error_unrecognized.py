"""A sync fails with an error text that whysync does not recognize.

## What happens
An object could not be applied or deleted. The text is not in whysync's patterns, but its class is known: the
API server's validation, its permissions, an admission policy, or an overloaded API server.

## How whysync knows
The reason in the API server's response (`Error from server (Forbidden)`), an HTTP status, or the class of
the error. The finding has the usual cause of that class, and low confidence.

## Fix
Run the command shown: a server-side dry run returns all errors at once.

## When it is something else
The quoted text is exact; the cause is the usual one for this class of error. If the text contradicts the
cause, trust the text.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Finding, rule
from whysync.diagnosis.rule import VARIES
from whysync.diagnosis.symptom import Side
from whysync.queries.unrecognized_errors import family_findings


@rule(cause=VARIES, since="0.1", last_resort=True)
def apply_error_unrecognized(case: Case) -> Iterator[Finding]:
    yield from family_findings(case, Side.APPLY)
