"""Verifying one fix does not compare the whole app: the work does not grow with the number of resources."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.proofs import write
from whysync import app
from whysync.argocd.compare import resources
from whysync.diagnosis.comparison import would_be_written
from whysync.proofs.scope import scope_of


def rows_built(monkeypatch: pytest.MonkeyPatch, folder: Path, size: int) -> int:
    """How many rows a comparison builds that decides whether one manifest would be written."""
    write(folder, size)
    (case,) = app.cases(app.read(app.FactSource(bundles=(str(folder),))))
    built = 0
    original = resources.row_status

    def counted(*arguments: object, **options: object) -> object:
        nonlocal built
        built += 1
        return original(*arguments, **options)  # pyright: ignore[reportArgumentType]  the arguments of the original

    monkeypatch.setattr(resources, "row_status", counted)
    assert would_be_written(case, case.desired[0])
    assert not would_be_written(case, case.desired[1])
    monkeypatch.undo()
    return built


def test_one_manifest_is_compared_with_one_live_object(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    assert rows_built(monkeypatch, small, 10) == rows_built(monkeypatch, large, 80) == 2


def test_a_scope_of_one_resource_has_its_objects_only(tmp_path: Path) -> None:
    write(tmp_path, 80)
    (case,) = app.cases(app.read(app.FactSource(bundles=(str(tmp_path),))))
    scope = scope_of(case, only=frozenset({case.desired[0].key}))
    assert [manifest.ref for manifest in scope.desired] == [case.desired[0].ref]
    assert scope.left_out == len(case.desired) - 1
