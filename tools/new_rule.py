"""Writes the files of a new rule: the module, a first case and a near miss.

usage: new_rule.py SIDE/what_is_wrong --cause CAUSE
"""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIDES = ("compare", "drift", "apply", "health", "fresh")

MODULE = '''"""One sentence: what is wrong, in Argo CD's words.

## What happens
What the user sees, and why it comes about.

## How whysync knows
Which facts prove it.

## Fix
What to do, the safest way first.

## When it is something else
What looks alike, and how to tell it apart.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, SymptomKind, cite, rule


@rule(cause="{cause}", since="0.1")
def {name}(case: Case) -> Iterator[Finding]:
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.UNHEALTHY or symptom.ref is None:
            continue
        if "say here what makes it this cause" not in symptom.text:
            continue
        yield Finding(
            about=symptom.ref,
            explains=(symptom.id,),
            confidence=Confidence.MEDIUM,
            verdict=f"{{symptom.ref}}: say in one sentence what is wrong",
            evidence=(cite(case.application, "/status/health", says="what this proves"),),
            fixes=(Fix.run(f"argocd app get {{case.app.name}}", title="Say what to do"),),
        )
'''

CASE = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: app, namespace: argocd}}
spec:
  project: default
  source: {{repoURL: "https://git.example.com/team/deploy.git", path: app, targetRevision: main}}
  destination: {{server: "https://kubernetes.default.svc", namespace: default}}
status:
  sync: {{status: Synced, revision: a3f1c29d0b7e4a8c9f6d5e4c3b2a190817263544}}
  health: {{status: {health}}}
  resources:
    - group: apps
      version: v1
      kind: Deployment
      namespace: default
      name: app
      status: Synced
      health: {{status: {health}, message: "{message}"}}
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", metavar="SIDE/what_is_wrong")
    parser.add_argument("--cause", required=True, help="an id of the list of causes, such as manual-edit")
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
    module = ROOT / "src/whysync/rules" / side / f"{name}.py"
    cases = ROOT / "tests/rules" / side / name
    if module.exists() or cases.exists():
        parser.error(f"{side}/{name} exists already")
    module.write_text(MODULE.format(cause=options.cause, name=name))
    fires = CASE.format(health="Degraded", message="say here what makes it this cause")
    near_miss = CASE.format(health="Degraded", message="something alike")
    for folder, text in (("first_case", fires), ("near_miss", near_miss)):
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
