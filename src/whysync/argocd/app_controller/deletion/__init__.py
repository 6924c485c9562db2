"""Deletion of an Application: its hooks, its resources, its finalizers.

`finalize.finalize(deletion)` is one pass of the controller.
"""
