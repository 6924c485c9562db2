"""Claims that ask for more: bound or not, with a class whose volumes can grow, cannot, or without a class."""

from __future__ import annotations

from suites.cluster.steps import STATUS, Case, Step, case, create, obj, patch


def _claim(kind: str) -> Step:
    message = (
        f"storageClassName: {kind}, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}"
    )
    return create(obj("v1/PersistentVolumeClaim c", f"spec: {{{message}}}"))


def _class(name: str, more: str) -> Step:
    return create(obj(f"storage.k8s.io/v1/StorageClass {name}", f"{{provisioner: a.example/b{more}}}"))


def _asked(size: str, until: int = 0) -> Step:
    step = patch(
        "merge",
        obj("v1/PersistentVolumeClaim c"),
        f"spec: {{resources: {{requests: {{storage: {size}}}}}}}",
    )
    return Step(step.request, until=until)


def _grows(kind: str) -> tuple[Step, ...]:
    claim = obj("v1/PersistentVolumeClaim c")
    bound = patch("merge", claim, "status: {phase: Bound, capacity: {storage: 1Gi}}", STATUS)
    volume = patch("merge", claim, "spec: {volumeName: v}")
    return (_claim(kind), _asked("2Gi"), volume, bound, _asked("1024Mi"), _asked("2Gi"), _asked("512Mi"))


CASES: tuple[Case, ...] = (
    case("grows", _class("grows-nsaaaa", ", allowVolumeExpansion: true"), *_grows("grows-nsaaaa")),
    case("stays", _class("stays-nsaaaa", ""), *_grows("stays-nsaaaa")),
    case("refuses", _class("refuses-nsaaaa", ", allowVolumeExpansion: false"), *_grows("refuses-nsaaaa")),
    case("without", *_grows("''")),
)
