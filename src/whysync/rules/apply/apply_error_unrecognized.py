"""A sync fails with an error whose exact words whysync does not know.

## What happens
An object could not be applied or deleted. The words are new to whysync, but they say who refused: the
API server's validation, its permissions, an admission policy, or an API server that is overloaded.

## How whysync knows
The reason of the API server's answer (`Error from server (Forbidden)`), an HTTP status, or the class of
the error. The finding has the cause of that class, and low confidence.

## Fix
Run the command shown: a dry run on the server gives all answers at once.

## When it is something else
The words in the finding are exact; the cause is the usual one for this class of error. If they say
something else, believe the words.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Finding, rule
from whysync.diagnosis.rule import VARIES
from whysync.diagnosis.symptom import Side
from whysync.queries.families import family_findings


@rule(cause=VARIES, since="0.1", last_resort=True)
def apply_error_unrecognized(case: Case) -> Iterator[Finding]:
    yield from family_findings(case, Side.APPLY)
