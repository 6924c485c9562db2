"""Write the docs that are generated from code; `--check` fails if they are stale."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import msgspec

from suites.argocd.known import argocd_markdown
from suites.cluster.known import cluster_markdown
from tests.argocd.compare.known import engine_markdown
from tests.conformance.known import differences_markdown
from whysync.cli.parser import parser
from whysync.diagnosis.rule import GROUPS, AnyRule, registry
from whysync.notifications.config import schema as config_schema
from whysync.reports.diagnose_json import schema

DOCS = Path(__file__).resolve().parents[1] / "docs"


def pages() -> dict[str, str]:
    contents = {f"rules/{id}.md": "\n".join(map(_rule, rules)) for id, rules in _by_id().items()}
    contents["rules/README.md"] = _index()
    contents["commands.md"] = _commands()
    contents["report-v1.schema.json"] = _json(schema())
    contents["config-v1.schema.json"] = _json(config_schema())
    sections = (differences_markdown(), cluster_markdown(), argocd_markdown(), engine_markdown())
    contents["differences.md"] = "\n".join(sections)
    return contents


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode() + "\n"


def _by_id() -> dict[str, list[AnyRule]]:
    """The rule on an Application first, then the one that finds the same mistake in files."""
    by_id: dict[str, list[AnyRule]] = {}
    for rule in registry():
        by_id.setdefault(rule.id, []).append(rule)
    return by_id


def _rule(rule: AnyRule) -> str:
    title, _, rest = rule.docs.partition("\n")
    verbs = [name for name, runs in (("lint", rule.layer), ("audit", rule.topic)) if runs is not None]
    if verbs:
        about = f"{' and '.join(f'`whysync {verb}`' for verb in verbs)} · {rule.severity}"
    else:
        facts = ", ".join(sorted(fact.value for fact in rule.needs)) or "the Application alone"
        about = f"side {rule.side} · needs {facts}"
    about = f"`{rule.id}` · cause `{rule.cause}` · {about} · since {rule.since}"
    return f"# {title}\n\n{about}\n{rest.rstrip()}\n"


def _index() -> str:
    lines = ["# Rules", "", "One page for each, generated from the rule's own module.", ""]
    for group in sorted(GROUPS):
        lines += [f"## {group}", "", "| cause | rule | what is wrong |", "|---|---|---|"]
        rules = sorted((r for r in registry() if r.group == group), key=lambda rule: (rule.cause, rule.id))
        lines += [f"| {rule.cause} | [{rule.id}]({rule.id}.md) | {rule.title} |" for rule in rules]
        lines.append("")
    return "\n".join(lines)


def _commands() -> str:
    os.environ["COLUMNS"] = "100"
    os.environ["NO_COLOR"] = "1"
    top = parser()
    lines = [
        "# Commands",
        "",
        "Generated from the command line itself. `--help-all` adds the"
        " [descriptions](#filters-connection-and-limits)"
        " of the flags that `--help` lists by name only.",
        "",
        "```",
        top.format_help().rstrip(),
        "```",
    ]
    groups: dict[str, str] = {}
    for name, verb in top.verbs().items():
        lines += ["", f"## whysync {name}", "", "```", verb.format_help().rstrip(), "```"]
        for command, below in verb.verbs().items():
            lines += ["", f"### whysync {name} {command}", "", "```", below.format_help().rstrip(), "```"]
        groups = {**verb.collapsed_groups(), **groups}
    descriptions = "\n\n".join(groups[title] for title in sorted(groups))
    lines += ["", "## Filters, connection and limits", "", "```", descriptions, "```"]
    return "\n".join(lines) + "\n"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    check: bool = options.parse_args().check
    contents = pages()
    stale = [
        name
        for name, text in contents.items()
        if not (DOCS / name).exists() or (DOCS / name).read_text() != text
    ]
    leftover = [p for p in (DOCS / "rules").glob("*.md") if f"rules/{p.name}" not in contents]
    if check:
        for name in [*stale, *(f"rules/{p.name} (its rule is gone)" for p in leftover)]:
            print(f"stale: docs/{name}; run make docs", file=sys.stderr)
        return 1 if stale or leftover else 0
    for name in stale:
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(contents[name])
    for page in leftover:
        page.unlink()
    print(f"{len(stale)} pages written, {len(contents) - len(stale)} fresh")
    return 0


if __name__ == "__main__":
    sys.exit(main())
