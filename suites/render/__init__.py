"""Rendering with the real Helm, Kustomize and Jsonnet, which the suite installs from PyPI.

`cases/` are small repositories written for it, each with an Application and what Argo CD would make of it:
`expected.yaml`, or `problem.txt` where it fails.
"""
