"""Compare a desired and a live object as Argo CD 3.6 does."""
