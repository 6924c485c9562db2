"""Writes the files of a new rule: the module, a first case and a near miss.

usage: new_rule.py SIDE/what_is_wrong --cause CAUSE --failure TYPE [--message TEXT]
       new_rule.py drift/what_is_wrong --cause CAUSE --mechanism NAME
"""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from pathlib import Path

from whysync import __version__
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.json_tree import Object
from whysync.kubernetes.api.yaml import dump

ROOT = Path(__file__).resolve().parents[1]
PATTERNS = ROOT / "src/whysync/messages/patterns"
SIDES = ("compare", "drift", "apply", "health", "fresh")

PAGE = '''"""One sentence: what is wrong, in Argo CD's words.

## What happens
What the user sees, and why it happens.

## How whysync knows
Which facts prove it.

## Fix
What to do, the safest way first.

## When it is something else
What looks alike, and how to tell it apart.
"""

from collections.abc import Iterator

'''

MODULE = (
    PAGE
    + """from whysync.diagnosis import Case, Confidence, Finding, Fix, rule
from whysync.messages.patterns.{module} import {failure}
from whysync.queries.commands import sync
from whysync.queries.group_failures import grouped


@rule(cause="{cause}", since="{since}")
def {name}(case: Case) -> Iterator[Finding]:
    for group in grouped(case, {failure}):
        ref = group.ref or case.application.ref
        yield Finding(
            about=ref,
            explains=group.explains,
            confidence=Confidence.HIGH,
            verdict=f"{{ref}}: say in one sentence what is wrong",
            evidence=group.cited(says="what this proves"),
            fixes=(Fix.run(sync(case), title="Say what to do"),),
        )
"""
)

DRIFT_MODULE = (
    PAGE
    + """from whysync.diagnosis import Case, Confidence, Fact, Finding, Mechanism, rule
from whysync.queries.drift import drift_finding, field_names
from whysync.queries.ignore_rules import ignore_field


@rule(cause="{cause}", needs={{Fact.DESIRED, Fact.LIVE}}, since="{since}")
def {name}(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.{mechanism}):
        ref = drifts[0].ref
        yield drift_finding(
            *drifts,
            confidence=Confidence.MEDIUM,
            verdict=f"{{field_names(drifts)}} of {{ref}}: say in one sentence what is wrong",
            fixes=(ignore_field(case, ref, *(drift.pointer for drift in drifts)),),
        )
"""
)

ROW: Object = {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "shop", "name": "shop"}


def status_with(side: str, message: str) -> Object:
    """Where Argo CD reports the message of a failure, by the side of the rule."""
    match side:
        case "apply":
            result: Object = {**ROW, "status": "SyncFailed", "message": message}
            return {"operationState": {"phase": "Failed", "syncResult": {"resources": [result]}}}
        case "health":
            health: Object = {"status": "Degraded", "message": message}
            return {
                "health": {"status": "Degraded"},
                "resources": [{**ROW, "status": "Synced", "health": health}],
            }
        case _:
            return {"conditions": [{"type": "ComparisonError", "message": message}]}


def application(status: Object) -> Object:
    repo, server = "https://git.example.com/shop/deploy.git", "https://kubernetes.default.svc"
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "shop", "namespace": "argocd"},
        "spec": {
            "project": "default",
            "source": {"repoURL": repo, "path": "app", "targetRevision": "main"},
            "destination": {"server": server, "namespace": "shop"},
        },
        "status": {"sync": {"status": "Synced"}, **status},
    }


def message_cases(side: str, message: str) -> tuple[str, str]:
    """A case with the message, and a near miss with another one."""
    matching, other = (application(status_with(side, text)) for text in (message, "another message"))
    return dump(matching), dump(other)


def drift_cases() -> tuple[str, ...]:
    """A Deployment that differs in one field, and a near miss that does not."""
    status: Object = {"sync": {"status": "OutOfSync"}, "resources": [{**ROW, "status": "OutOfSync"}]}
    return tuple(
        "---\n".join(
            dump(document) for document in (application(status), deployment({}, desired=True), other)
        )
        for other in (deployment({"minReadySeconds": 5}, desired=False), deployment({}, desired=False))
    )


def deployment(spec: Object, *, desired: bool) -> Object:
    annotations: Object = {"whysync.dev/role": "desired"} if desired else {}
    metadata: Object = {"name": "shop", "namespace": "shop", "annotations": annotations}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def module_of(failure: str) -> str | None:
    """The module of `messages/patterns` that defines this failure type."""
    definition = re.compile(rf"^class {re.escape(failure)}\(Failure", re.MULTILINE)
    return next((path.stem for path in PATTERNS.glob("*.py") if definition.search(path.read_text())), None)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", metavar="SIDE/what_is_wrong")
    parser.add_argument("--cause", required=True, help="an id of the list of causes, such as manual-edit")
    parser.add_argument("--failure", default="", help="a failure type of messages/patterns, such as Evicted")
    parser.add_argument("--message", default="the message", help="a text that is parsed into this failure")
    parser.add_argument("--mechanism", default="", help="for drift: a Mechanism, such as BY_HAND")
    options = parser.parse_args()
    side, _, name = options.name.partition("/")
    if side not in SIDES:
        parser.error(f"NAME is SIDE/what_is_wrong, and SIDE is one of {', '.join(SIDES)}")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        parser.error(
            f"{name!r} becomes a module: lower case, digits and underscores, such as hook_never_finished"
        )
    if not re.fullmatch(r"[a-z0-9-]+", options.cause):
        parser.error("CAUSE is lower case with dashes, such as manual-edit")
    if bool(options.failure) == bool(options.mechanism):
        parser.error("give either FAILURE, a failure type, or MECHANISM, a mechanism of drift")
    if options.mechanism and options.mechanism not in Mechanism.__members__:
        parser.error(
            f"{options.mechanism} is not in class Mechanism of diagnosis/drift/mechanism.py: add it there"
        )
    defined_in = module_of(options.failure)
    if options.failure and defined_in is None:
        parser.error(f"no module of messages/patterns defines {options.failure}: add it with its pattern")
    module = ROOT / "src/whysync/rules" / side / f"{name}.py"
    cases = ROOT / "tests/rules" / side / name
    if module.exists() or cases.exists():
        parser.error(f"{side}/{name} exists already")
    template = DRIFT_MODULE if options.mechanism else MODULE
    values = {
        "failure": options.failure,
        "module": defined_in,
        "mechanism": options.mechanism,
        "since": __version__.rpartition(".")[0],
    }
    module.write_text(template.format(cause=options.cause, name=name, **values))
    texts = drift_cases() if options.mechanism else message_cases(side, options.message)
    for folder, text in zip(("first_case", "near_miss"), texts, strict=True):
        (cases / folder).mkdir(parents=True)
        (cases / folder / "case.yaml").write_text(text)
        (cases / folder / "expected.txt").write_text("")
    print(f"wrote {module.relative_to(ROOT)} and two cases in {cases.relative_to(ROOT)}/")
    print("next: write the rule and its cases, rename the case folders for their situation, then")
    print(f"      .venv/bin/python -m pytest tests/rules -k {name}/ --accept   and read expected.txt")
    print("      make docs check test, and a line in changes/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
