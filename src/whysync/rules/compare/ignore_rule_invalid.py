"""An `ignoreDifferences` rule cannot be compiled, which stops the comparison of the whole Application.

## What happens
A jq expression or pointer of an ignore rule has a mistake. Argo CD does not skip the rule: it gives
up comparing, and the sync status is Unknown.

## How whysync knows
`failed to create diff normalizer`, with the complaint of jq.

## Fix
Correct the expression, or take it out. `kubectl get … -o json | jq 'del(EXPRESSION)'` tries it on
the live object.

## When it is something else
A rule that compiles and never matches does no harm beside the drift that it should hide.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Remove, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.diffs import IgnoreRuleInvalid
from whysync.queries.commands import comment, hard_refresh
from whysync.queries.group_failures import grouped


@rule(cause="ignore-rule-miss", since="0.1")
def ignore_rule_invalid(case: Case) -> Iterator[Finding]:
    for group in grouped(case, IgnoreRuleInvalid, by=lambda failure: failure.expression):
        failure = group.failure
        pointer = _place(case, failure.expression)
        yield Finding(
            about=case.application.ref,
            field=pointer,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"an ignore rule cannot be compiled: {one_line(failure.expression or failure.detail)}",
            root=one_line(failure.detail) or None,
            evidence=(
                *group.cited(says="the comparison stops at this rule"),
                *((cite(case.application, pointer, says="the rule"),) if pointer else ()),
            ),
            fixes=(
                Fix.run(
                    comment(
                        "try it on the live object: kubectl get KIND NAME -o json | jq 'del(EXPRESSION)'"
                    ),
                    hard_refresh(case),
                    title="Correct the expression (in the Application, or in argocd-cm), then refresh hard",
                ),
                *(
                    (Fix.application(case.application.ref, Remove(pointer=pointer), title="Or take it out"),)
                    if pointer
                    else ()
                ),
            ),
        )


def _place(case: Case, expression: str) -> str | None:
    """The rule that the text names; where it names none, the only one that there is."""
    known = {
        f"/spec/ignoreDifferences/{index}/jqPathExpressions/{number}": written
        for index, ignored in enumerate(case.app.spec.ignore_differences)
        for number, written in enumerate(ignored.jq_path_expressions)
    }
    named = [pointer for pointer, written in known.items() if written == expression]
    return next(iter(named or (known if len(known) == 1 else ())), None)
