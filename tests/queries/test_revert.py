"""A refused change is taken back only where nothing but Git has moved, and what runs is well."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of, config_map, row
from whysync.diagnosis.fix import Remove, Set
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Ref
from whysync.queries.revert import is_reverted_in_git, revert_commit, revert_in_git

REF = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")
OLD, NEW = "a" * 40, "b" * 40


def app(*, compared: str = NEW, synced: str = OLD) -> Object:
    history: list[Json] = [{"id": 1, "revision": synced, "deployedAt": "2026-03-02T03:00:00Z"}]
    return application(
        sync="OutOfSync",
        status={
            "sync": {"status": "OutOfSync", "revision": compared},
            "history": history,
            "resources": [
                row("ConfigMap", "settings", "OutOfSync"),
                row("Deployment", "web", "OutOfSync"),
            ],
        },
    )


def edits(git: Object, live: Object | None, of: Object | None = None) -> tuple[object, ...] | None:
    objects = [config_map(data=git, desired=True), *([config_map(data=live)] if live is not None else [])]
    fix = revert_in_git(case_of(of or app(), *objects), REF)
    return fix.edits if fix is not None else None


def test_git_gets_what_is_live() -> None:
    assert edits({"a": "new", "b": "same", "c": "added"}, {"a": "old", "b": "same"}) == (
        Set(pointer="/data/a", value="old"),
        Remove(pointer="/data/c"),
    )


@pytest.mark.parametrize(
    ("git", "live", "of"),
    [
        ({"a": "new"}, None, None),  # nothing ran before
        ({"a": "same"}, {"a": "same"}, None),
        ({"a": "new"}, {"a": "old"}, app(compared=OLD)),  # Git has not moved: somebody else has
        ({str(n): "new" for n in range(13)}, {str(n): "old" for n in range(13)}, None),
    ],
)
def test_where_it_is_not_plain_nothing_is_taken_back(
    git: Object, live: Object | None, of: Object | None
) -> None:
    assert edits(git, live, of) is None


def test_as_many_fields_as_somebody_reads() -> None:
    result = edits({str(n): "new" for n in range(12)}, {str(n): "old" for n in range(12)})
    assert result is not None
    assert len(result) == 12


def test_what_git_has_dropped_is_not_taken_back() -> None:
    """It is to be pruned: that Git says what runs cannot be said of it."""
    assert not is_reverted_in_git(case_of(app(), config_map(data={"a": "runs"})), REF, RESULT)


def test_not_to_what_is_unwell() -> None:
    bad: Object = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    ref = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="web")

    def deployment(image: str, **more: Json) -> Object:
        pod: Object = {"containers": [{"name": "web", "image": image}]}
        meta: Object = {"name": "web", "namespace": "shop"}
        if not more:
            meta["annotations"] = {"whysync.dev/role": "desired"}
        spec: Object = {"replicas": 1, "template": {"spec": pod}}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec, **more}

    moved = app()
    well: Object = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
    runs = case_of(moved, deployment("web:2"), deployment("web:1", status=well))
    fails = case_of(moved, deployment("web:2"), deployment("web:1", status={**well, "conditions": [bad]}))
    assert revert_in_git(runs, ref) is not None
    assert revert_in_git(fails, ref) is None


RESULT = (SymptomId.result(REF.key),)
EVENT = (SymptomId(SymptomKind.EVENT, detail="shop/settings.1"),)


@pytest.mark.parametrize(
    ("git", "live", "explains", "done"),
    [
        ({"a": "runs"}, {"a": "runs"}, RESULT, True),
        ({"a": "new"}, {"a": "runs"}, RESULT, False),
        ({"a": "runs"}, None, RESULT, False),
        ({"a": "runs"}, {"a": "runs"}, EVENT, False),  # refused later: its Pods
    ],
)
def test_git_has_taken_it_back(
    git: Object, live: Object | None, explains: tuple[SymptomId, ...], done: bool
) -> None:
    objects = [config_map(data=git, desired=True), *([config_map(data=live)] if live is not None else [])]
    assert is_reverted_in_git(case_of(app(), *objects), REF, explains) == done


@pytest.mark.parametrize(
    ("compared", "revision", "commands"),
    [
        (NEW, "main", (f"git log --oneline {OLD[:8]}..{NEW[:8]} -- apps/shop   # which commit broke it?",)),
        (OLD, "main", ()),  # no commit came after the last sync
        (NEW, "v1.2.3", ()),  # a new commit does not move a tag
        (NEW, NEW, ()),
    ],
)
def test_the_commit_that_broke_the_source(compared: str, revision: str, commands: tuple[str, ...]) -> None:
    case = case_of(
        application(
            spec={
                "source": {
                    "repoURL": "https://git.example.com/a.git",
                    "path": "apps/shop",
                    "targetRevision": revision,
                }
            },
            status={
                "sync": {"status": "Unknown", "revision": compared},
                "history": [{"id": 1, "revision": OLD}],
            },
        )
    )
    assert tuple(fix.commands[0] for fix in revert_commit(case, case.app.sources[0])) == commands
