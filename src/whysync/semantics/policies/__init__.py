"""When Argo CD may act, and who may ask it to: schedules, sync windows, RBAC, auto-sync, retries.

Every decision comes with its reason as data, so that a diagnosis can name the window, the line of a policy
or the setting that decided.
"""
