"""`whysync.kubernetes` and `whysync.argocd` on their own: public names, and the examples of their READMEs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.cli.running import small_environment
from tests.situations import ROOT
from whysync import argocd, kubernetes

PACKAGES = {"kubernetes": kubernetes, "argocd": argocd}


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_there(name: str) -> None:
    package = PACKAGES[name]
    assert all(getattr(package, public) is not None for public in package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(package, "nothing")  # noqa: B009  (a type checker would refuse the attribute)


@pytest.mark.parametrize("name", PACKAGES)
def test_the_example_prints_what_its_readme_shows(name: str) -> None:
    page = (ROOT / "src/whysync" / name / "README.md").read_text()
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert match is not None
    done = subprocess.run(
        [sys.executable, "-c", match[1]],
        capture_output=True,
        env=small_environment(),
        timeout=120,
        check=False,
    )
    assert done.stderr.decode() == ""
    assert done.stdout.decode() == match[2]


@pytest.mark.parametrize("name", PACKAGES)
def test_importing_the_package_loads_nothing_else(name: str) -> None:
    code = f"import sys, whysync.{name}; print(*sorted(n for n in sys.modules if n.startswith('whysync')))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=small_environment(), timeout=60, check=True
    )
    assert done.stdout.decode().split() == ["whysync", f"whysync.{name}"]
