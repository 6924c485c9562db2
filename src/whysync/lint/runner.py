"""Run the checks, locate each remark in its file, and drop suppressed ones."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec

from whysync.diagnosis.finding import Severity
from whysync.kubernetes.api.pointer import join
from whysync.lint.lines import Lines
from whysync.lint.suppressions import Ignore, covering, ignores_in, ignores_of
from whysync.manifests.check import Check, Layer
from whysync.manifests.configuration import OFF
from whysync.manifests.files import File, Item
from whysync.manifests.read_files import kinds_without_schema
from whysync.manifests.remark import Note, Outcome, Remark, Suppressed, in_order
from whysync.manifests.tree import Tree

log = logging.getLogger(__name__)

NO_REASON = "suppression_without_reason"


def run(tree: Tree, checks: Iterable[Check], notes: Iterable[Note] = ()) -> Outcome:
    every = {check.id: check for check in checks}
    context = CheckContext(tree, every)
    context.look()
    told = [*notes, *context.crashed]
    context.take_bad_ignores()
    unknown = kinds_without_schema(tree)
    if unknown:
        some = f"{sum(unknown.values())} object{'s' if sum(unknown.values()) > 1 else ''}"
        why = f"no schema for {', '.join(sorted(unknown))} ({some}): give their CRDs with --crds"
        told.append(Note(path="", why=why))
    return Outcome(
        remarks=in_order(context.remarks),
        suppressed=tuple(sorted(context.suppressed, key=lambda one: (one.remark.path, one.remark.line))),
        notes=tuple(sorted(told, key=lambda note: (not note.matters, note.path, note.why))),
        files=sum(1 for file in tree.files if file.documents or file.broken),
        objects=len(tree.items),
    )


class CheckContext:
    """`imagined`: nothing deploys the objects in this form, such as a chart with its default values."""

    def __init__(self, tree: Tree, checks: dict[str, Check], *, imagined: bool = False) -> None:
        self.tree = tree
        self.checks = checks
        self.imagined = imagined
        self.remarks: list[Remark] = []
        self.suppressed: list[Suppressed] = []
        self.crashed: list[Note] = []
        self._lines: dict[str, Lines] = {}
        self._ignores: dict[str, list[Ignore]] = {}
        self._of_items: dict[int, list[Ignore]] = {}
        self._seen: set[tuple[str, str, int, str, str]] = set()

    def look(self) -> None:
        for check in self.checks.values():
            try:
                for item, remark in check.look(self.tree):
                    self.take(check, item, remark)
            except Exception as problem:  # one failing check must not stop the others
                log.debug("check %s crashed", check.id, exc_info=True)
                why = f"the check {check.id} crashed: {type(problem).__name__}: {problem}"
                self.crashed.append(Note(path="", why=why, matters=True))

    def take(self, check: Check, item: Item | File, remark: Remark) -> None:
        file = item if isinstance(item, File) else item.file
        severity = self._severity(check, file.path, remark)
        if severity is None:
            return
        line = remark.line
        if isinstance(item, Item) and item.is_written_here and not line:
            pointer = join(item.inside) + (remark.field or "/kind")
            line = self._of(file).of(item.document, pointer)
        placed = msgspec.structs.replace(
            remark,
            check=check.id,
            severity=severity,
            path=file.path,
            line=line,
            ref=remark.ref or (item.ref if isinstance(item, Item) else None),
            document=item.document if isinstance(item, Item) else -1,
            inside=item.inside if isinstance(item, Item) else (),
        )
        same = check.id, file.path, line, placed.field or "", placed.message
        if same in self._seen:
            return
        self._seen.add(same)
        ignore = covering(self._ignored(file), placed)
        if ignore is None and isinstance(item, Item):
            ignore = covering(self._ignored_by(item), placed)
        if ignore is None:
            self.remarks.append(placed)
        else:
            self.suppressed.append(Suppressed(remark=placed, reason=ignore.reason, how=ignore.how))

    def take_bad_ignores(self) -> None:
        """Report suppressions without effect, in all files."""
        check = self.checks.get(NO_REASON)
        if check is None:
            return
        for file in self.tree.files:
            for bad in ignores_in(file, self.checks)[1]:
                self.take(
                    check, file, Remark(message=f"this suppression does not count: {bad.why}", line=bad.line)
                )
        for item in self.tree.items:
            for bad in ignores_of(item, 0, 0, self.checks)[1]:
                remark = Remark(
                    message=f"this suppression does not count: {bad.why}",
                    field="/metadata/annotations/whysync.dev~1ignore",
                )
                self.take(check, item, remark)

    def _severity(self, check: Check, path: str, remark: Remark) -> Severity | None:
        """A remark may be less severe than its check; the configuration has precedence."""
        level = self.tree.configuration.level(check.id, path)
        if level == OFF:
            return None
        if level:
            return Severity(level)
        known = [remark.severity, check.severity]
        if check.layer is Layer.GITOPS and self.tree.is_for_show(path):
            known.append(Severity.INFO)
        if self.imagined and check.layer in (Layer.GITOPS, Layer.REFERENCES):
            known.append(Severity.INFO)
        return min(known, key=lambda one: one.weight)

    def _of(self, file: File) -> Lines:
        return self._lines.setdefault(file.path, Lines(file))

    def _ignored(self, file: File) -> list[Ignore]:
        if file.path not in self._ignores:
            self._ignores[file.path] = ignores_in(file, self.checks)[0]
        return self._ignores[file.path]

    def _ignored_by(self, item: Item) -> list[Ignore]:
        if id(item) not in self._of_items:
            self._of_items[id(item)] = ignores_of(item, 0, 1 << 60, self.checks)[0]
        return self._of_items[id(item)]
