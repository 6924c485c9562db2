"""The text of symptom ids is public (JSON reports carry it); their parts are what code looks at."""

from __future__ import annotations

import copy
import pickle

import pytest

from whysync.diagnosis.symptom import (
    APP_DIFFERS,
    DELETION,
    HYDRATION,
    NEVER_RECONCILED,
    NO_CONDITION,
    SYNC_LOOP,
    SymptomId,
    SymptomKind,
)
from whysync.kubernetes.api.ref import Key

WEB = Key("apps", "Deployment", "shop", "web")


@pytest.mark.parametrize(
    ("id", "text", "kind"),
    [
        (
            SymptomId.differs(WEB, "/spec/replicas"),
            "differs:apps/Deployment/shop/web:/spec/replicas",
            "differs",
        ),
        (SymptomId.unhealthy(Key("", "Pod", "shop", "web")), "unhealthy:/Pod/shop/web", "unhealthy"),
        (SymptomId.condition("SyncError", 0), "condition:SyncError:0", "condition"),
        (SymptomId(SymptomKind.BEHIND, number=1), "behind:1", "behind"),
        (NO_CONDITION, "condition:none", "condition"),
        (APP_DIFFERS, "differs", "differs"),
        (DELETION, "deletion", "operation"),
        (HYDRATION, "hydration", "condition"),
        (SYNC_LOOP, "looping", "differs"),
        (NEVER_RECONCILED, "stale:never", "stale"),
    ],
)
def test_text_and_kind(id: SymptomId, text: str, kind: str) -> None:
    assert (str(id), id.kind) == (text, SymptomKind(kind))


@pytest.mark.parametrize(
    "id", [SymptomId.differs(WEB, "/data"), DELETION, SymptomId.condition("SyncError", 2)]
)
def test_a_copy_for_another_process_keeps_all_parts(id: SymptomId) -> None:
    for other in (pickle.loads(pickle.dumps(id)), copy.deepcopy(id)):
        assert other == id
        assert (other.kind, other.key, other.detail, other.number) == (id.kind, id.key, id.detail, id.number)
