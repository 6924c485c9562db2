"""What is said of several objects alike is told once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.situations import REVISION, application, case_of
from whysync.diagnosis.evidence import Evidence, without_repeats
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Ref

ENDED = "/status/containerStatuses/0/state/terminated"


def pod(name: str, value: Json, *, says: str = "how it ended", pointer: str = ENDED) -> Evidence:
    ref = Ref(version="v1", kind="Pod", namespace="shop", name=name)
    return Evidence(source="live", ref=ref, pointer=pointer, value=value, says=says)


def test_pods_that_ended_alike_are_one_link() -> None:
    ends: list[Object] = [{"exitCode": 1, "containerID": f"c{n}", "finishedAt": f"t{n}"} for n in range(4)]
    deduplicated = without_repeats(tuple(pod(f"job-{n}abcd", end) for n, end in enumerate(ends)))
    assert [evidence.says for evidence in deduplicated] == ["how it ended; 4 Pods alike"]
    assert deduplicated[0].ref.name == "job-0abcd"


def test_what_differs_stays_apart() -> None:
    first, second = pod("job-aaaaa", {"exitCode": 1}), pod("job-bbbbb", {"exitCode": 137})
    assert without_repeats((first, second)) == (first, second)
    elsewhere = pod("job-aaaaa", {"exitCode": 1}, pointer="/status/containerStatuses/1/state/terminated")
    assert without_repeats((first, elsewhere)) == (first, elsewhere)


def test_generated_names_in_a_text_do_not_count() -> None:
    messages = [f'pods "web-6c9d5f7b8-{end}" is forbidden: no room' for end in ("x9p2k", "4hvzq")]
    deduplicated = without_repeats(
        tuple(pod(f"e{n}", message, pointer="/message") for n, message in enumerate(messages))
    )
    assert [evidence.says for evidence in deduplicated] == ["how it ended; 2 Pods alike"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([1, 137, "x"])), max_size=8))
def test_nothing_is_lost_and_the_order_stays(ends: list[tuple[str, Json]]) -> None:
    original = tuple(pod(name, value) for name, value in ends)
    deduplicated = without_repeats(original)
    assert {str(evidence.value) for evidence in deduplicated} == {
        str(evidence.value) for evidence in original
    }
    assert without_repeats(deduplicated) == deduplicated
    positions = [
        next(n for n, evidence in enumerate(original) if evidence.value == link.value)
        for link in deduplicated
    ]
    assert positions == sorted(positions)


def test_one_dead_webhook_is_one_finding_however_many_it_refuses() -> None:
    message = (
        'Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: Post '
        '"https://policy.guard.svc:443/v?timeout=10s": no endpoints available for service "policy"'
    )
    results: list[Json] = [
        {
            "group": "",
            "version": "v1",
            "kind": "ConfigMap",
            "namespace": "shop",
            "name": f"settings-{number}",
            "status": "SyncFailed",
            "message": message,
            "syncPhase": "Sync",
        }
        for number in range(40)
    ]
    operation: Object = {
        "phase": "Failed",
        "message": f"one or more objects failed to apply, reason: {','.join([message] * 40)}",
        "startedAt": "2026-03-02T03:00:00Z",
        "finishedAt": "2026-03-02T03:01:00Z",
        "syncResult": {"revision": REVISION, "resources": results},
    }
    case = case_of(application(sync="OutOfSync", status={"operationState": operation}))
    report = diagnose(case, diagnosis_rules())
    assert [finding.cause for finding in report.findings] == ["webhook-down"]
    assert len(report.findings[0].explains) >= 41
    assert len(report.findings[0].evidence) < 8
