"""Values of the Argo CD and Kubernetes APIs: manifests, references, JSON pointers, YAML.

A Kubernetes object stays a raw tree (`Manifest` over `Json`): a typed model would drop the fields
that it does not know, and a diff may not lose one. What Argo CD says *about* objects is typed.
"""
