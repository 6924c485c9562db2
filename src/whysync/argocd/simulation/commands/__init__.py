"""`kubectl` and `argocd` command lines, run on a simulation."""
