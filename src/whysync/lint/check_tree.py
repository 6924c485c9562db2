"""Run rules on a tree of files: locate each finding, determine its severity, and apply suppressions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import cast

import msgspec

from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import MANIFESTS, Layer, Rule, rules_in
from whysync.diagnosis.runner import run_rules
from whysync.fixes.lines import Lines
from whysync.kubernetes.api.pointer import join
from whysync.lint.outcome import Outcome, Suppressed, in_order
from whysync.manifests.configuration import OFF
from whysync.manifests.files import File, Item, Note
from whysync.manifests.read_files import kinds_without_schema
from whysync.manifests.suppressions import Ignore, covering, ignores_in, ignores_of
from whysync.manifests.tree import Tree

_YAML_1_1 = re.compile(r"[:-]\s+(?:y|n|yes|no|on|off)\s*(?:#.*)?$", re.IGNORECASE)


def lint_rules() -> tuple[Rule[Tree], ...]:
    """The rules on files, by id."""
    rules = (rule for rule in rules_in(MANIFESTS) if rule.layer is not None)
    return cast("tuple[Rule[Tree], ...]", tuple(sorted(rules, key=lambda rule: rule.id)))


def check_tree(tree: Tree, rules: Iterable[Rule[Tree]], notes: Iterable[Note] = ()) -> Outcome:
    checked = CheckedTree(tree, rules)
    not_checked = [*notes, *checked.crashed]
    unknown = kinds_without_schema(tree)
    if unknown:
        some = f"{sum(unknown.values())} object{'s' if sum(unknown.values()) > 1 else ''}"
        why = f"no schema for {', '.join(sorted(unknown))} ({some}): pass their CRDs with --crds"
        not_checked.append(Note(path="", why=why))
    return Outcome(
        findings=in_order(checked.findings),
        suppressed=tuple(sorted(checked.suppressed, key=lambda s: (s.finding.path, s.finding.line))),
        notes=tuple(sorted(not_checked, key=lambda note: (not note.matters, note.path, note.why))),
        files=sum(1 for file in tree.files if file.documents or file.broken),
        objects=len(tree.items),
    )


class CheckedTree:
    """`hypothetical`: nothing deploys the objects in this form, such as a chart with its default values."""

    def __init__(self, tree: Tree, rules: Iterable[Rule[Tree]], *, hypothetical: bool = False) -> None:
        self._tree = tree
        self._hypothetical = hypothetical
        self._rules: dict[str, Rule[Tree]] = {}
        self._lines: dict[str, Lines] = {}
        self._ignores: dict[str, list[Ignore]] = {}
        self._seen: set[tuple[str, str, int, str, str]] = set()
        self.findings: list[Finding] = []
        self.suppressed: list[Suppressed] = []
        run = run_rules(self._remembered(rules), tree)
        self.crashed = [
            Note(path="", why=f"the check {crashed.rule} crashed: {crashed.error}", matters=True)
            for crashed in run.crashed
        ]
        for finding in run.findings:
            self._add(finding)

    def _remembered(self, rules: Iterable[Rule[Tree]]) -> Iterator[Rule[Tree]]:
        for rule in rules:
            self._rules[rule.id] = rule
            yield rule

    def _add(self, finding: Finding) -> None:
        severity = self._severity(finding)
        if severity is None or finding.location is None:
            return
        item = self._items.get((finding.path, finding.location.document, finding.location.inside))
        file = item.file if item else self._files.get(finding.path)
        location = self._with_position(finding, finding.location, item)
        if item is not None and item.kustomized and self._quoted_by_kustomize(finding, location, item):
            return
        located = msgspec.structs.replace(finding, severity=severity, location=location)
        identity = finding.rule, location.path, location.line, finding.field or "", finding.verdict
        if identity in self._seen:
            return
        self._seen.add(identity)
        ignore = covering(self._ignored(file), located) if file else None
        if ignore is None and item is not None:
            ignore = covering(ignores_of(item, self._known)[0], located)
        if ignore is None:
            self.findings.append(located)
        else:
            self.suppressed.append(Suppressed(finding=located, reason=ignore.reason, how=ignore.how))

    def _with_position(self, finding: Finding, location: FileLocation, item: Item | None) -> FileLocation:
        if item is None or not item.is_written_here or location.line:
            return location
        lines = self._lines.setdefault(location.path, Lines(item.file))
        position = lines.position(item.document, join(item.inside) + (finding.field or "/kind"))
        return msgspec.structs.replace(location, line=position.line, column=position.column)

    def _quoted_by_kustomize(self, finding: Finding, location: FileLocation, item: Item) -> bool:
        """Kustomize writes `on` and `yes` as strings, as in YAML 1.2, and quotes all annotations."""
        if finding.rule != "value_of_wrong_type" or not item.is_written_here:
            return False
        if (finding.field or "").startswith("/metadata/annotations/"):
            return True
        lines = item.file.text.split("\n")
        line = lines[location.line - 1] if 0 < location.line <= len(lines) else ""
        return _YAML_1_1.search(line) is not None

    def _severity(self, finding: Finding) -> Severity | None:
        """A finding may be less severe than its rule; the configuration has precedence."""
        rule = self._rules[finding.rule]
        level = self._tree.configuration.level(rule.id, finding.path)
        if level == OFF:
            return None
        if level:
            return Severity(level)
        severities = [finding.severity, rule.severity]
        if rule.layer is not Layer.ARGOCD and self._tree.is_example(finding.path):
            severities.append(Severity.INFO)
        if rule.layer in (Layer.SYNTAX, Layer.SCHEMA) and (
            self._tree.is_left_over(finding.path) or self._tree.is_unreached(finding.path)
        ):
            severities.append(Severity.WARNING)
        about = finding.about
        if rule.layer is Layer.SCHEMA and not self._tree.definitions.is_certain(
            about.group, about.kind, finding.path
        ):
            severities.append(Severity.WARNING)
        if self._hypothetical and rule.layer in (Layer.GITOPS, Layer.REFERENCES):
            severities.append(Severity.INFO)
        return min(severities, key=lambda severity: severity.weight)

    @cached_property
    def _items(self) -> dict[tuple[str, int, tuple[str, ...]], Item]:
        return {(item.file.path, item.document, item.inside): item for item in self._tree.items}

    @cached_property
    def _files(self) -> dict[str, File]:
        return {file.path: file for file in self._tree.files}

    @cached_property
    def _known(self) -> Collection[str]:
        return {rule.id for rule in lint_rules()}

    def _ignored(self, file: File) -> list[Ignore]:
        if file.path not in self._ignores:
            self._ignores[file.path] = ignores_in(file, self._known)[0]
        return self._ignores[file.path]
