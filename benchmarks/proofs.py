"""`diagnose` of one broken app by its size, with and without the simulation of fixes.

`python -m benchmarks.proofs [RESOURCES…]`. One resource in twenty was changed by hand. Whole processes, so
that start-up and reading the bundle count; the yardstick is the same command without proofs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.diagnose import application, in_namespace, row, text_of
from benchmarks.startup import Cost, cost
from benchmarks.sync import config_map, deployment, service
from whysync.json_tree import Object, fields

SIZES = (50, 200, 800)
CHANGED = 20
ROUNDS = 3


def run(sizes: tuple[int, ...] = SIZES) -> Iterator[tuple[str, str]]:
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), size)
            plain, proven = _cost(folder, "--no-proof"), _cost(folder)
        with_proofs = f"{proven.wall:.2f} s, {proven.cpu:.2f} s of processor"
        without_proofs = f"without proofs {plain.wall:.2f} s, {plain.cpu:.2f} s of processor"
        yield f"{size} resources, {size // CHANGED or 1} changed by hand", f"{with_proofs}; {without_proofs}"


def _cost(folder: str, *flags: str) -> Cost:
    command = ("-m", "whysync", "diagnose", "--bundle", folder, *flags)
    return cost(*command, rounds=ROUNDS)


def write(root: Path, resources: int) -> None:
    """A bundle of one app whose Deployments have other replicas than in Git."""
    makers = (deployment, service, config_map)
    desired = [in_namespace(makers[at % 3](f"part-{at:04}", 0), "shop") for at in range(resources)]
    live = [_live(manifest, at) for at, manifest in enumerate(desired)]
    rows = [row(desired_object) for desired_object in desired]
    for at in range(0, resources, CHANGED * 3):
        for number in range(at, min(at + 9, resources), 3):
            _changed(live[number])
            rows[number]["status"] = "OutOfSync"
    for path, bodies in {
        "applications/shop.json": [application("shop", rows, broken=False, changed=True)],
        "desired/shop/all.json": desired,
        "live/shop.json": live,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text_of(bodies))


def _live(desired: Object, number: int) -> Object:
    tracking = f"shop:{desired['kind']}:shop/{number}"
    meta: Object = {
        **fields(desired["metadata"]),
        "uid": f"00000000-0000-4000-8000-{number:012}",
        "resourceVersion": str(number + 1),
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {
            **fields(fields(desired["metadata"]).get("annotations")),
            "argocd.argoproj.io/tracking-id": tracking,
        },
    }
    body: Object = {**desired, "metadata": meta}
    if desired["kind"] == "Deployment":
        replicas = 2
        body["status"] = {
            "observedGeneration": 1,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "readyReplicas": replicas,
            "availableReplicas": replicas,
        }
    return body


def _changed(live: Object) -> None:
    live["spec"] = {**fields(live["spec"]), "replicas": 5}
    claim: Object = {
        "manager": "kubectl-edit",
        "operation": "Update",
        "time": "2026-01-02T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }
    fields(live["metadata"])["managedFields"] = [claim]


def main() -> None:
    for label, figure in run(tuple(int(size) for size in sys.argv[1:]) or SIZES):
        print(f"{label:<40} {figure}", flush=True)


if __name__ == "__main__":
    main()
