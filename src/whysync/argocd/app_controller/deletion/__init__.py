"""The end of an Application: its hooks, its resources, its finalizers.

`finalize.finalize(deletion)` is one look of the controller. Nothing is imported here.
"""
