"""The fields that a fix changes, as lines: what they show is in the objects, and nothing else is shown."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.situations import application, case_of, config_map
from tests.trees import VALUES, objects
from whysync.argocd.tracking.method import TRACKING_ID
from whysync.diagnosis.fix import Set
from whysync.fixes.edit import edited
from whysync.fixes.fragments import deleted, fragment
from whysync.fixes.patches import for_git
from whysync.json_tree import Json, Object, same
from whysync.kubernetes.api.yaml import load


def check_fragment(text: str, before: Object, after: Object) -> None:
    """Check that each side of the fragment parses as a part of its object."""
    for side, obj in (("-", before), ("+", after)):
        lines = [line[1:] for line in text.splitlines() if line[:1] in (" ", side)]
        if lines and not any(line.strip() == "…" for line in lines):
            assert is_part(load("\n".join(lines)), obj), "\n".join(lines)


def is_part(fragment: Json, document: Json) -> bool:
    if fragment is None or same(fragment, document):
        return True  # a key without a value: the other side has more
    if isinstance(fragment, dict) and isinstance(document, dict):
        return all(key in document and is_part(value, document[key]) for key, value in fragment.items())
    if isinstance(fragment, list) and isinstance(document, list):
        rest = iter(document)
        return all(any(is_part(item, other) for other in rest) for item in fragment)
    return False


@given(objects(VALUES), objects(VALUES))
def test_each_side_is_a_part_of_its_object(before: Object, after: Object) -> None:
    text = fragment(before, after)
    assert (text == "") == same(before, after)
    check_fragment(text, before, after)


DEPLOYMENT: Object = {
    "metadata": {
        "name": "web",
        "annotations": {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web"},
    },
    "spec": {
        "replicas": 1,
        "template": {
            "spec": {
                "containers": [
                    {"image": "proxy:1", "name": "proxy"},
                    {
                        "image": "web:1",
                        "name": "web",
                        "args": ["serve", "--port=80"],
                        "ports": [{"containerPort": 80}],
                    },
                ]
            }
        },
    },
}


CONTAINER = "/spec/template/spec/containers/1"
ABOVE = " spec:\n   template:\n     spec:\n       containers:\n       - name: web\n"


@pytest.mark.parametrize(
    ("pointer", "value", "shown"),
    [
        ("/spec/replicas", 2, " spec:\n-  replicas: 1\n+  replicas: 2\n"),
        ("/spec/paused", True, " spec:\n+  paused: true\n"),
        (f"{CONTAINER}/image", "web:2", f"{ABOVE}-        image: web:1\n+        image: web:2\n"),
        (
            f"{CONTAINER}/args",
            ["serve", "--port=81"],
            f"{ABOVE}         args:\n         - serve\n-        - '--port=80'\n+        - '--port=81'\n",
        ),
        (
            f"{CONTAINER}/ports",
            [{"containerPort": 81}],
            f"{ABOVE}         ports:\n-        - containerPort: 80\n+        - containerPort: 81\n",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_change_with_the_keys_above_it(pointer: str, value: Json, shown: str) -> None:
    """Neither the tracking id nor another container is shown."""
    assert fragment(DEPLOYMENT, edited(DEPLOYMENT, [Set(pointer=pointer, value=value)])) == shown


def test_a_claim_template_is_named_by_its_metadata() -> None:
    def body(size: str) -> Object:
        claim: Object = {"metadata": {"name": "data"}, "spec": {"storage": size, "mode": "Block"}}
        return {"spec": {"volumeClaimTemplates": [claim]}}

    above = " spec:\n   volumeClaimTemplates:\n   - metadata:\n       name: data\n     spec:\n"
    assert fragment(body("1Gi"), body("2Gi")) == f"{above}-      storage: 1Gi\n+      storage: 2Gi\n"


def test_of_a_long_text_the_lines_near_the_change() -> None:
    lines = [f"line {number}" for number in range(20)]
    before: Object = {"data": {"conf": "\n".join(lines) + "\n"}}
    after: Object = {"data": {"conf": "\n".join([*lines[:10], "new", *lines[11:]]) + "\n"}}
    assert fragment(before, after).splitlines() == [
        " data:",
        "   conf: |",
        "     …",
        "     line 7",
        "     line 8",
        "     line 9",
        "-    line 10",
        "+    new",
        "     line 11",
        "     line 12",
        "     line 13",
    ]


@pytest.mark.parametrize(
    ("method", "label"), [("", "shop"), ("label", None), ("annotation+label", None)], ids=str
)
def test_what_argo_cd_adds_is_not_in_git(method: str, label: str | None) -> None:
    body: Object = {
        "kind": "ConfigMap",
        "metadata": {
            "name": "settings",
            "uid": "1",
            "labels": {"app.kubernetes.io/instance": "shop"},
            "annotations": {TRACKING_ID: "shop:/ConfigMap:shop/settings"},
        },
        "status": {},
    }
    settings = config_map("argocd-cm", data={"application.resourceTrackingMethod": method})
    written = for_git(body, case_of(application(), settings))
    labels: Object = {"labels": {"app.kubernetes.io/instance": label}} if label else {}
    assert written == {"kind": "ConfigMap", "metadata": {"name": "settings", **labels}}
    assert deleted(written).startswith("-kind: ConfigMap\n-metadata:\n-  name: settings\n")
