"""Why is this Argo CD app OutOfSync, Degraded or failed: the cause, its writer, the fix."""

__version__ = "0.1.0"

__all__ = ["__version__"]
