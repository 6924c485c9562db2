"""`python -m whysync.argocd.repo_server.render` installs Helm and Kustomize into whysync's cache."""

from __future__ import annotations

import sys

from whysync.argocd.repo_server.render.tools import install
from whysync.errors import SourceError

try:
    sys.stdout.write("".join(f"{tool}: {tool.command[0]}\n" for tool in install()))
except SourceError as problem:
    sys.exit(f"{problem.what}: {problem.why}\n{problem.next}")
