"""An invalid `ignoreDifferences` rule stops the comparison of the whole Application.

## What happens
A jq expression or JSON pointer of an ignore rule is invalid. Argo CD does not skip the rule: the comparison
fails, and the sync status is Unknown.

## How whysync knows
`failed to create diff normalizer`, with the error of jq.

## Fix
Correct or remove the expression. `kubectl get … -o json | jq 'del(EXPRESSION)'` tests it on the live object.

## When it is something else
A valid rule that never matches only fails to hide the difference.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Remove, Severity, cite_if, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.diffs import IgnoreRuleInvalid
from whysync.queries.commands import comment, hard_refresh
from whysync.queries.group_failures import grouped


@rule(cause="ignore-rule-miss", since="0.1")
def ignore_rule_invalid(case: Case) -> Iterator[Finding]:
    for group in grouped(case, IgnoreRuleInvalid, by=lambda failure: failure.expression):
        failure = group.failure
        pointer = _pointer_of(case, failure.expression)
        yield Finding(
            about=case.application.ref,
            field=pointer,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"an ignoreDifferences rule is invalid: {one_line(failure.expression or failure.detail)}",
            root=one_line(failure.detail) or None,
            evidence=(
                *group.cited(says="error of the comparison"),
                *cite_if(case.application, pointer, says="the invalid rule"),
            ),
            fixes=(
                Fix.run(
                    comment(
                        "test it on the live object: kubectl get KIND NAME -o json | jq 'del(EXPRESSION)'"
                    ),
                    hard_refresh(case),
                    title="Correct the expression (in the Application or in argocd-cm), then hard refresh",
                ),
                *(
                    (
                        Fix.application(
                            case.application.ref, Remove(pointer=pointer), title="Remove the expression"
                        ),
                    )
                    if pointer
                    else ()
                ),
            ),
        )


def _pointer_of(case: Case, expression: str) -> str | None:
    """The pointer to the named expression; if none is named, to the only one."""
    expressions = {
        f"/spec/ignoreDifferences/{index}/jqPathExpressions/{number}": written
        for index, ignored in enumerate(case.app.spec.ignore_differences)
        for number, written in enumerate(ignored.jq_path_expressions)
    }
    matching = [pointer for pointer, written in expressions.items() if written == expression]
    return next(iter(matching or (expressions if len(expressions) == 1 else ())), None)
