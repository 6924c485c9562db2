"""Which fields of a StatefulSet an update may change."""

IMMUTABLE_FIELDS = ("volumeClaimTemplates", "serviceName", "selector", "podManagementPolicy")
MUTABLE_FIELDS = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip
"""Fields of `spec`, in the order of the API server's message (`ValidateStatefulSetUpdate`, 1.36)."""
