"""What Argo CD and Kubernetes say on the wire, as values.

A Kubernetes object stays a raw tree (`Manifest` over `Json`): a typed model would drop the fields
that it does not know, and a diff may not lose one. What Argo CD says *about* objects is typed.
"""
