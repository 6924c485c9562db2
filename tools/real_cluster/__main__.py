"""Build kube-apiserver and etcd, with `--controllers` the other control plane programs; print their paths."""

from __future__ import annotations

import argparse
import sys

from tools.real_cluster.binaries import NotAvailable, find_or_build


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tools.real_cluster", description=__doc__)
    options.add_argument(
        "--controllers", action="store_true", help="kube-controller-manager and kube-scheduler as well"
    )
    controllers: bool = options.parse_args().controllers
    try:
        binaries = find_or_build(lambda line: print(line, flush=True), controllers=controllers)
    except NotAvailable as problem:
        print(f"no API server to compare with: {problem}", file=sys.stderr)
        return 1
    print(f"kube-apiserver: {binaries.apiserver}\netcd: {binaries.etcd}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
