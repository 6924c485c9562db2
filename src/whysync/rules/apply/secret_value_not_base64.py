"""A value in a Secret's `data` is not base64.

## What happens
Every value in `data` must be base64; plain text belongs in `stringData`. A plain value, a placeholder that a
tool should have replaced (`<path:…>`, `${…}`), or a line break inside the value is rejected.

## How whysync knows
`illegal base64 data` from the API server.

## Fix
Encode the value, or move it to `stringData`. If it is a placeholder, the tool that replaces it did not run.

## When it is something else
Another field of the Secret is wrong: schema-invalid.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.messages.patterns.schema import SecretEncoding
from whysync.queries.commands import sync
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref


@rule(cause="secret-encoding", since="0.1")
def secret_value_not_base64(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SecretEncoding, by=lambda failure: failure.resource):
        ref = named_ref(case, group.failure.resource, group.ref)
        what = "a Secret" if ref == case.application.ref else str(ref)
        yield Finding(
            about=ref,
            field="/data",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{what} has a value in data that is not base64",
            evidence=group.cited(says="the API server cannot decode it"),
            fixes=(
                Fix.run(
                    "# in Git: move plain values from data to stringData, or encode them:",
                    "printf %s 'VALUE' | base64 -w0",
                    sync(case),
                    title="Encode the value, or move it to stringData;"
                    " if it is a placeholder, run the tool that replaces it",
                ),
            ),
        )
