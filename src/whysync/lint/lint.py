"""The steps of `whysync lint`: read files, run the rules on them and on what they render."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from whysync.deadline import stage
from whysync.diagnosis.rule import Rule
from whysync.json_tree import Object
from whysync.lint.check_tree import check_tree, lint_rules
from whysync.lint.outcome import Outcome, in_order
from whysync.lint.rendered import combined, rendered
from whysync.manifests.configuration import Configuration
from whysync.manifests.files import Note, unfolded
from whysync.manifests.read_files import Reader, tree_of
from whysync.manifests.tree import Tree

NO_MANIFESTS: Final = "no manifests here: check the path"


def lint(
    paths: Iterable[str],
    configuration: Configuration | None = None,
    *,
    rules: Iterable[Rule[Tree]] | None = None,
    render: bool = False,
    progress: Callable[[str, int], None] | None = None,
) -> tuple[Outcome, Tree]:
    """All findings of the rules about these files and folders, and what was read.

    `progress` gets what is done, in words.
    """
    configuration = configuration or Configuration()
    paths = list(paths)
    reader = Reader(configuration)
    files = reader.files(paths, progress)
    tree = tree_of(
        files,
        configuration,
        charts=reader.charts,
        terraform=reader.terraform,
        definitions=_definitions(configuration.crds),
    )
    selected = lint_rules() if rules is None else tuple(rules)
    notes = [*reader.notes, *_release_notes(configuration), *_nothing_to_check(paths, tree, reader)]
    outcome = check_tree(tree, _told(selected, progress), notes)
    if not render:
        return _unrendered(outcome, reader), tree
    more = rendered(tree, selected, reader.charts, paths, outcome.findings, progress)
    layers = {rule.id: rule.layer for rule in selected}
    both = replace(
        outcome,
        findings=in_order(combined(outcome.findings, more, layers)),
        notes=(*outcome.notes, *more.notes),
        objects=outcome.objects + more.objects,
    )
    return both, tree


def _told(rules: Sequence[Rule[Tree]], progress: Callable[[str, int], None] | None) -> Iterator[Rule[Tree]]:
    done = stage("running checks", len(rules), progress)
    for number, rule in enumerate(rules):
        done(number)
        yield rule


def _unrendered(outcome: Outcome, reader: Reader) -> Outcome:
    why = "a Helm chart: its templates are not rendered"
    notes = tuple(Note(path=folder or ".", why=why) for folder in sorted(reader.charts))
    return replace(outcome, notes=(*outcome.notes, *notes))


def _nothing_to_check(paths: Iterable[str], tree: Tree, reader: Reader) -> list[Note]:
    """A folder without manifests may be a wrong path: "nothing found" would be misleading.

    A file that is named may contain no object, such as the values of a chart.
    """
    if reader.charts or reader.notes or any(file.documents or file.broken for file in tree.files):
        return []
    return [Note(path=path, why=NO_MANIFESTS, matters=True) for path in paths if Path(path).is_dir()]


def _release_notes(configuration: Configuration) -> list[Note]:
    return [Note(path="", why=configuration.release_note)] if configuration.release_note else []


def _definitions(paths: Iterable[str]) -> list[Object]:
    """CRDs that are not linted themselves."""
    reader = Reader(Configuration())
    existing = [path for path in paths if Path(path).exists()]
    missing = [path for path in paths if path not in existing]
    if missing:
        reader.files(missing)  # raises an error that names the missing path
    return [
        body
        for file in reader.files(existing)
        for document in file.documents
        for _, body in unfolded(document.body)
        if body.get("kind") == "CustomResourceDefinition"
    ]
