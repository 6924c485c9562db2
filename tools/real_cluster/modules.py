"""The Go modules that are built, and the `go.mod` that makes them buildable.

Kubernetes replaces its own modules (`k8s.io/api`, …) by folders of its repository. Replacements do not apply
to dependents, so each module is replaced here by the version of the same release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

NEEDS_GO = "1.26"

_STAGED: Final = (
    "api",
    "apiextensions-apiserver",
    "apimachinery",
    "apiserver",
    "cli-runtime",
    "client-go",
    "cloud-provider",
    "cluster-bootstrap",
    "code-generator",
    "component-base",
    "component-helpers",
    "controller-manager",
    "cri-api",
    "cri-client",
    "cri-streaming",
    "csi-translation-lib",
    "dynamic-resource-allocation",
    "endpointslice",
    "externaljwt",
    "kms",
    "kube-aggregator",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
    "metrics",
    "mount-utils",
    "pod-security-admission",
    "sample-apiserver",
    "sample-cli-plugin",
    "sample-controller",
    "streaming",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    name: str
    path: str
    version: str
    packages: dict[str, str]
    """Program → what to build."""
    replaced: dict[str, str] = field(default_factory=dict[str, str])
    stamps: dict[str, str] = field(default_factory=dict[str, str])
    """Variables that the linker sets, so that a program knows its own version."""
    main: str = ""
    """The text of a `main.go`, where the module has a library and no program."""
    version_arguments: tuple[str, ...] = ("--version",)

    def files(self) -> dict[str, str]:
        lines = [f"module whysync.dev/{self.name}", "", f"go {NEEDS_GO}.0", ""]
        lines.append(f"require {self.path} {self.version}")
        lines += [f"replace {path} => {path} {version}" for path, version in sorted(self.replaced.items())]
        contents = {"go.mod": "\n".join(lines) + "\n"}
        if self.main:
            contents["main.go"] = self.main
        return contents

    def flags(self) -> str:
        stamped = [f"-X {name}={value}" for name, value in sorted(self.stamps.items())]
        return " ".join(["-s", "-w", *stamped])


def _kubernetes(version: str) -> Module:
    staged = "v0" + version.removeprefix("v1")
    _, minor, _ = version.split(".")
    stamp = "k8s.io/component-base/version"
    return Module(
        name="kubernetes",
        path="k8s.io/kubernetes",
        version=version,
        packages={
            program: f"k8s.io/kubernetes/cmd/{program}"
            for program in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
        },
        replaced={f"k8s.io/{part}": staged for part in _STAGED},
        stamps={f"{stamp}.gitVersion": version, f"{stamp}.gitMajor": "1", f"{stamp}.gitMinor": minor},
    )


_ETCD_MAIN = """\
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
"""

KUBERNETES = _kubernetes("v1.36.3")
ETCD = Module(
    name="etcd",
    path="go.etcd.io/etcd/server/v3",
    version="v3.6.16",
    packages={"etcd": "."},
    main=_ETCD_MAIN,
)
KWOK = Module(
    name="kwok",
    path="sigs.k8s.io/kwok",
    version="v0.7.0",
    packages={"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
)
