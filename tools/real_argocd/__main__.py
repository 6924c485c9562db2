"""Build Argo CD, kube-apiserver, etcd, the controllers and kwok, and print their paths."""

from __future__ import annotations

import argparse
import sys

from tools.real_argocd.programs import find_or_build
from tools.real_cluster.binaries import NotAvailable


def main() -> int:
    argparse.ArgumentParser(prog="python -m tools.real_argocd", description=__doc__).parse_args()
    try:
        programs = find_or_build(lambda line: print(line, flush=True))
    except NotAvailable as problem:
        print(f"no Argo CD to compare with: {problem}", file=sys.stderr)
        return 1
    for name, path in programs.listed():
        print(f"{name}: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
