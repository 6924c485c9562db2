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
    told = without_repeats(tuple(pod(f"job-{n}abcd", end) for n, end in enumerate(ends)))
    assert [one.says for one in told] == ["how it ended; 4 Pods alike"]
    assert told[0].ref.name == "job-0abcd"


def test_what_differs_stays_apart() -> None:
    one, other = pod("job-aaaaa", {"exitCode": 1}), pod("job-bbbbb", {"exitCode": 137})
    assert without_repeats((one, other)) == (one, other)
    place = pod("job-aaaaa", {"exitCode": 1}, pointer="/status/containerStatuses/1/state/terminated")
    assert without_repeats((one, place)) == (one, place)


def test_generated_names_in_a_text_do_not_count() -> None:
    said = [f'pods "web-6c9d5f7b8-{end}" is forbidden: no room' for end in ("x9p2k", "4hvzq")]
    told = without_repeats(tuple(pod(f"e{n}", words, pointer="/message") for n, words in enumerate(said)))
    assert [one.says for one in told] == ["how it ended; 2 Pods alike"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([1, 137, "x"])), max_size=8))
def test_nothing_is_lost_and_the_order_stays(found: list[tuple[str, Json]]) -> None:
    given_ = tuple(pod(name, value) for name, value in found)
    told = without_repeats(given_)
    assert {str(one.value) for one in told} == {str(one.value) for one in given_}
    assert without_repeats(told) == told
    places = [next(n for n, one in enumerate(given_) if one.value == link.value) for link in told]
    assert places == sorted(places)


def test_one_dead_webhook_is_one_finding_however_many_it_refuses() -> None:
    words = (
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
            "message": words,
            "syncPhase": "Sync",
        }
        for number in range(40)
    ]
    operation: Object = {
        "phase": "Failed",
        "message": f"one or more objects failed to apply, reason: {','.join([words] * 40)}",
        "startedAt": "2026-03-02T03:00:00Z",
        "finishedAt": "2026-03-02T03:01:00Z",
        "syncResult": {"revision": REVISION, "resources": results},
    }
    case = case_of(application(sync="OutOfSync", status={"operationState": operation}))
    report = diagnose(case, diagnosis_rules())
    assert [finding.cause for finding in report.findings] == ["webhook-down"]
    assert len(report.findings[0].explains) >= 41
    assert len(report.findings[0].evidence) < 8
