# ruff: noqa: E501  (a table: one object on a line)
"""Objects that the server refuses, and valid ones next to them: its error messages."""

from __future__ import annotations

from suites.cluster.cases.workloads import LABELS, pod, workload
from suites.cluster.steps import Case, case, create, edit, get, obj, patch, put
from whysync.json_tree import Object

_C = "containers: [{name: c, image: a}]"
_PODS = {
    "no_containers": "{}",
    "no_image": "{containers: [{name: c}]}",
    "no_name": "{containers: [{image: a}]}",
    "upper_name": "{containers: [{name: C, image: a}]}",
    "blank_image": "{containers: [{name: c, image: ' a'}]}",
    "same_names": "{containers: [{name: c, image: a}, {name: c, image: b}]}",
    "same_names_init": "{initContainers: [{name: c, image: a}], containers: [{name: c, image: b}]}",
    "pull_policy": "{containers: [{name: c, image: a, imagePullPolicy: Sometimes}]}",
    "restart_policy": f"{{restartPolicy: Sometimes, {_C}}}",
    "dns_policy": f"{{dnsPolicy: Other, {_C}}}",
    "grace": f"{{terminationGracePeriodSeconds: -5, {_C}}}",
    "deadline": f"{{activeDeadlineSeconds: 0, {_C}}}",
    "volume_missing": "{containers: [{name: c, image: a, volumeMounts: [{name: v, mountPath: /v}]}]}",
    "mount_twice": "{containers: [{name: c, image: a, volumeMounts: [{name: v, mountPath: /v}, {name: v, mountPath: /v}]}], volumes: [{name: v, emptyDir: {}}]}",
    "mount_no_path": "{containers: [{name: c, image: a, volumeMounts: [{name: v}]}], volumes: [{name: v, emptyDir: {}}]}",
    "mount_subpath": "{containers: [{name: c, image: a, volumeMounts: [{name: v, mountPath: /v, subPath: ../x}]}], volumes: [{name: v, emptyDir: {}}]}",
    "volumes_twice": f"{{{_C}, volumes: [{{name: v, emptyDir: {{}}}}, {{name: v, emptyDir: {{}}}}]}}",
    "volume_two_sources": f"{{{_C}, volumes: [{{name: v, emptyDir: {{}}, hostPath: {{path: /}}}}]}}",
    "volume_bad_name": f"{{{_C}, volumes: [{{name: V_, emptyDir: {{}}}}]}}",
    "secret_no_name": f"{{{_C}, volumes: [{{name: v, secret: {{}}}}]}}",
    "config_map_no_name": f"{{{_C}, volumes: [{{name: v, configMap: {{}}}}]}}",
    "claim_no_name": f"{{{_C}, volumes: [{{name: v, persistentVolumeClaim: {{}}}}]}}",
    "mode_range": f"{{{_C}, volumes: [{{name: v, secret: {{secretName: s, defaultMode: 777}}}}]}}",
    "host_path_relative": f"{{{_C}, volumes: [{{name: v, hostPath: {{path: ''}}}}]}}",
    "host_path_type": f"{{{_C}, volumes: [{{name: v, hostPath: {{path: /x, type: Dir}}}}]}}",
    "port_range": "{containers: [{name: c, image: a, ports: [{containerPort: 0}, {containerPort: 70000}]}]}",
    "port_name": "{containers: [{name: c, image: a, ports: [{containerPort: 80, name: Web_}, {containerPort: 81, name: this-name-is-too-long}]}]}",
    "port_protocol": "{containers: [{name: c, image: a, ports: [{containerPort: 80, protocol: HTTP}]}]}",
    "port_names_twice": "{containers: [{name: c, image: a, ports: [{containerPort: 80, name: w}, {containerPort: 81, name: w}]}]}",
    "ports_twice": "{containers: [{name: c, image: a, ports: [{containerPort: 80}, {containerPort: 80}]}]}",
    "host_port": "{hostNetwork: true, containers: [{name: c, image: a, ports: [{containerPort: 80, hostPort: 81}]}]}",
    "env_name": "{containers: [{name: c, image: a, env: [{name: '', value: a}, {name: 'a=b', value: b}]}]}",
    "env_both": "{containers: [{name: c, image: a, env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}",
    "env_none": "{containers: [{name: c, image: a, env: [{name: A, valueFrom: {}}]}]}",
    "env_field": "{containers: [{name: c, image: a, env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.foo}}}]}]}",
    "env_key": "{containers: [{name: c, image: a, env: [{name: A, valueFrom: {secretKeyRef: {name: '', key: ''}}}]}]}",
    "env_from": "{containers: [{name: c, image: a, envFrom: [{}]}]}",
    "env_twice": "{containers: [{name: c, image: a, env: [{name: A, value: a}, {name: A, value: b}]}]}",
    "requests_over_limits": "{containers: [{name: c, image: a, resources: {limits: {cpu: 1}, requests: {cpu: 2}}}]}",
    "negative_resources": "{containers: [{name: c, image: a, resources: {limits: {cpu: -1}}}]}",
    "resource_name": "{containers: [{name: c, image: a, resources: {limits: {gpu: 1}}}]}",
    "extended_resource": "{containers: [{name: c, image: a, resources: {requests: {a.example/gpu: 1}}}]}",
    "fractional_bytes": "{containers: [{name: c, image: a, resources: {limits: {memory: 100m}}}]}",
    "probe_empty": "{containers: [{name: c, image: a, livenessProbe: {}}]}",
    "probe_two": "{containers: [{name: c, image: a, livenessProbe: {httpGet: {port: 80}, tcpSocket: {port: 80}}}]}",
    "probe_numbers": "{containers: [{name: c, image: a, livenessProbe: {tcpSocket: {port: 80}, periodSeconds: -1, successThreshold: 2}}]}",
    "probe_port": "{containers: [{name: c, image: a, livenessProbe: {httpGet: {port: 0, path: /, scheme: FTP}}}]}",
    "lifecycle_empty": "{containers: [{name: c, image: a, lifecycle: {preStop: {}}}]}",
    "account_name": f"{{serviceAccountName: A_b, {_C}}}",
    "node_selector": f"{{nodeSelector: {{'a b': c}}, {_C}}}",
    "toleration": f"{{tolerations: [{{key: a, operator: Exists, value: b}}, {{operator: Other}}, {{key: a, effect: Never}}], {_C}}}",
    "spread": f"{{topologySpreadConstraints: [{{maxSkew: 0, topologyKey: '', whenUnsatisfiable: Maybe}}], {_C}}}",
    "affinity": f"{{affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchExpressions: [{{key: a, operator: In}}]}}]}}}}}}, {_C}}}",
    "affinity_empty": f"{{affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: []}}}}}}, {_C}}}",
    "host_alias": f"{{hostAliases: [{{ip: x}}], {_C}}}",
    "hostname": f"{{hostname: A_b, subdomain: 'c d', {_C}}}",
    "security_user": f"{{securityContext: {{runAsUser: -1}}, {_C}}}",
    "security_escalation": "{containers: [{name: c, image: a, securityContext: {privileged: true, allowPrivilegeEscalation: false}}]}",
    "sysctl": f"{{securityContext: {{sysctls: [{{name: a/b, value: c}}, {{name: 'x y', value: c}}]}}, {_C}}}",
    "seccomp": f"{{securityContext: {{seccompProfile: {{type: Localhost}}}}, {_C}}}",
    "priority_unknown": f"{{priorityClassName: none, {_C}}}",
    "runtime_unknown": f"{{runtimeClassName: none, {_C}}}",
    "dns_none": f"{{dnsPolicy: None, {_C}}}",
    "os_windows": "{os: {name: windows}, containers: [{name: c, image: a, securityContext: {runAsUser: 1}}]}",
    "readiness_gate": f"{{readinessGates: [{{conditionType: ''}}], {_C}}}",
    "pull_secret": f"{{imagePullSecrets: [{{name: ''}}], {_C}}}",
    "init_probe": f"{{initContainers: [{{name: i, image: a, readinessProbe: {{tcpSocket: {{port: 80}}}}}}], {_C}}}",
    "init_restart": f"{{initContainers: [{{name: i, image: a, restartPolicy: Never}}], {_C}}}",
    "ephemeral": f"{{ephemeralContainers: [{{name: e, image: a}}], {_C}}}",
    "working_volume_device": "{containers: [{name: c, image: a, volumeDevices: [{name: v, devicePath: /d}]}], volumes: [{name: v, emptyDir: {}}]}",
    "gitrepo_volume": f"{{{_C}, volumes: [{{name: v, gitRepo: {{repository: r}}}}]}}",
    "old_node_label": f"{{nodeSelector: {{beta.kubernetes.io/os: linux}}, {_C}}}",
    "many": "{restartPolicy: X, containers: [{name: '', image: '', imagePullPolicy: Y, ports: [{}], env: [{}]}]}",
}
_T = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: a}]}}"
_JOB = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: a}]}}"
_HTTP = "http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}"
_HPA = "scaleTargetRef: {kind: Deployment, name: web}"
_OBJECTS: dict[str, Object] = {
    "deployment_no_selector": obj("apps/v1/Deployment web", f"spec: {{{_T}}}"),
    "deployment_no_template": obj("apps/v1/Deployment web", f"spec: {{{LABELS}}}"),
    "deployment_mismatch": obj(
        "apps/v1/Deployment web", f"spec: {{selector: {{matchLabels: {{app: x}}}}, {_T}}}"
    ),
    "deployment_numbers": workload(
        "apps/v1/Deployment",
        "replicas: -1, minReadySeconds: -1, revisionHistoryLimit: -1, progressDeadlineSeconds: -1",
    ),
    "deployment_strategy": workload(
        "apps/v1/Deployment", "strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}"
    ),
    "deployment_surge": workload(
        "apps/v1/Deployment", "strategy: {rollingUpdate: {maxSurge: x, maxUnavailable: 101%}}"
    ),
    "deployment_surge_negative": workload(
        "apps/v1/Deployment", "strategy: {rollingUpdate: {maxSurge: -1, maxUnavailable: -1}}"
    ),
    "deployment_selector_operator": obj(
        "apps/v1/Deployment web",
        f"spec: {{selector: {{matchExpressions: [{{key: app, operator: Like, values: [web]}}]}}, {_T}}}",
    ),
    "deployment_selector_no_values": obj(
        "apps/v1/Deployment web",
        f"spec: {{selector: {{matchExpressions: [{{key: app, operator: In}}]}}, {_T}}}",
    ),
    "deployment_selector_bad_label": obj(
        "apps/v1/Deployment web", f"spec: {{selector: {{matchLabels: {{'a b': c}}}}, {_T}}}"
    ),
    "deployment_deadline_below": workload(
        "apps/v1/Deployment", "minReadySeconds: 60, progressDeadlineSeconds: 30"
    ),
    "stateful_empty": obj("apps/v1/StatefulSet web", "spec: {}"),
    "stateful_policy": workload(
        "apps/v1/StatefulSet", "podManagementPolicy: Random, updateStrategy: {type: Never}"
    ),
    "stateful_partition": workload("apps/v1/StatefulSet", "updateStrategy: {rollingUpdate: {partition: -1}}"),
    "stateful_ondelete": workload(
        "apps/v1/StatefulSet", "updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}"
    ),
    "stateful_retention": workload(
        "apps/v1/StatefulSet", "persistentVolumeClaimRetentionPolicy: {whenDeleted: Maybe}"
    ),
    "stateful_replicas": workload("apps/v1/StatefulSet", "replicas: -1, ordinals: {start: -1}"),
    "daemon_strategy": workload("apps/v1/DaemonSet", "updateStrategy: {type: Never}"),
    "daemon_both_zero": workload("apps/v1/DaemonSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 0}}"),
    "daemon_both": workload(
        "apps/v1/DaemonSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 1}}"
    ),
    "job_restart": obj("batch/v1/Job j", "spec: {template: {spec: {containers: [{name: c, image: a}]}}}"),
    "job_numbers": obj(
        "batch/v1/Job j",
        f"spec: {{{_JOB}, parallelism: -1, completions: -1, backoffLimit: -1, activeDeadlineSeconds: -1, ttlSecondsAfterFinished: -1}}",
    ),
    "job_selector": obj("batch/v1/Job j", f"spec: {{{_JOB}, selector: {{matchLabels: {{a: b}}}}}}"),
    "job_indexed": obj("batch/v1/Job j", f"spec: {{{_JOB}, completionMode: Indexed}}"),
    "job_mode": obj("batch/v1/Job j", f"spec: {{{_JOB}, completionMode: Other}}"),
    "job_policy": obj(
        "batch/v1/Job j", f"spec: {{{_JOB}, podFailurePolicy: {{rules: [{{action: Explode}}]}}}}"
    ),
    "job_long_name": obj(f"batch/v1/Job {'j' * 64}", f"spec: {{{_JOB}}}"),
    "cronjob_empty": obj("batch/v1/CronJob c", "spec: {}"),
    "cronjob_schedule": obj(
        "batch/v1/CronJob c", f"spec: {{schedule: '61 * * * *', jobTemplate: {{spec: {{{_JOB}}}}}}}"
    ),
    "cronjob_zone_local": obj(
        "batch/v1/CronJob c",
        f"spec: {{schedule: '* * * * *', timeZone: Local, jobTemplate: {{spec: {{{_JOB}}}}}}}",
    ),
    "cronjob_zone_empty": obj(
        "batch/v1/CronJob c",
        f"spec: {{schedule: '* * * * *', timeZone: '', jobTemplate: {{spec: {{{_JOB}}}}}}}",
    ),
    "cronjob_zone_case": obj(
        "batch/v1/CronJob c",
        f"spec: {{schedule: '* * * * *', timeZone: europe/berlin, jobTemplate: {{spec: {{{_JOB}}}}}}}",
    ),
    "cronjob_long_name": obj(
        f"batch/v1/CronJob {'c' * 53}", f"spec: {{schedule: '* * * * *', jobTemplate: {{spec: {{{_JOB}}}}}}}"
    ),
    "cronjob_restart": obj(
        "batch/v1/CronJob c",
        "spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: a}]}}}}}",
    ),
    "service_no_ports": obj("v1/Service s", "spec: {selector: {a: b}}"),
    "service_port_names": obj("v1/Service s", "spec: {ports: [{port: 80, name: a}, {port: 80, name: b}]}"),
    "service_same_name": obj("v1/Service s", "spec: {ports: [{port: 80, name: a}, {port: 81, name: a}]}"),
    "service_port_name_bad": obj("v1/Service s", "spec: {ports: [{port: 80, name: A_}]}"),
    "service_port_big": obj("v1/Service s", "spec: {ports: [{port: 65536}]}"),
    "service_protocol": obj("v1/Service s", "spec: {ports: [{port: 80, protocol: HTTP}]}"),
    "service_cluster_ip": obj("v1/Service s", "spec: {clusterIP: 10.1.2.3, ports: [{port: 80}]}"),
    "service_cluster_ip_text": obj("v1/Service s", "spec: {clusterIP: abc, ports: [{port: 80}]}"),
    "service_external_name_none": obj("v1/Service s", "spec: {type: ExternalName}"),
    "service_external_name_ip": obj("v1/Service s", "spec: {type: ExternalName, externalName: 1.2.3.4}"),
    "service_external_name_cluster_ip": obj(
        "v1/Service s", "spec: {type: ExternalName, externalName: a.example, clusterIP: 10.96.0.9}"
    ),
    "service_node_port_range": obj(
        "v1/Service s", "spec: {type: NodePort, ports: [{port: 80, nodePort: 80}]}"
    ),
    "service_selector": obj("v1/Service s", "spec: {selector: {'a b': c}, ports: [{port: 80}]}"),
    "service_affinity": obj(
        "v1/Service s",
        "spec: {sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}, ports: [{port: 80}]}",
    ),
    "service_affinity_none_config": obj(
        "v1/Service s", "spec: {sessionAffinityConfig: {clientIP: {timeoutSeconds: 5}}, ports: [{port: 80}]}"
    ),
    "service_external_ips": obj("v1/Service s", "spec: {externalIPs: [127.0.0.1, x], ports: [{port: 80}]}"),
    "service_headless_balancer": obj(
        "v1/Service s", "spec: {type: LoadBalancer, clusterIP: None, ports: [{port: 80}]}"
    ),
    "service_dual": obj("v1/Service s", "spec: {ipFamilyPolicy: RequireDualStack, ports: [{port: 80}]}"),
    "service_ipv6": obj("v1/Service s", "spec: {ipFamilies: [IPv6], ports: [{port: 80}]}"),
    "service_distribution": obj("v1/Service s", "spec: {trafficDistribution: Far, ports: [{port: 80}]}"),
    "service_dots": obj("v1/Service a.b", "spec: {ports: [{port: 80}]}"),
    "service_long": obj(f"v1/Service {'s' * 64}", "spec: {ports: [{port: 80}]}"),
    "ingress_nothing": obj("networking.k8s.io/v1/Ingress i", "spec: {}"),
    "ingress_path": obj(
        "networking.k8s.io/v1/Ingress i",
        f"spec: {{rules: [{{host: a.example, {_HTTP.replace('path: /,', 'path: x,')}}}]}}",
    ),
    "ingress_path_type": obj(
        "networking.k8s.io/v1/Ingress i", f"spec: {{rules: [{{{_HTTP.replace('Prefix', 'Regex')}}}]}}"
    ),
    "ingress_no_path_type": obj(
        "networking.k8s.io/v1/Ingress i", f"spec: {{rules: [{{{_HTTP.replace('pathType: Prefix, ', '')}}}]}}"
    ),
    "ingress_double_slash": obj(
        "networking.k8s.io/v1/Ingress i",
        f"spec: {{rules: [{{{_HTTP.replace('path: /,', 'path: /a//b,')}}}]}}",
    ),
    "ingress_host_upper": obj(
        "networking.k8s.io/v1/Ingress i", f"spec: {{rules: [{{host: A.example, {_HTTP}}}]}}"
    ),
    "ingress_host_wild": obj(
        "networking.k8s.io/v1/Ingress i", f"spec: {{rules: [{{host: 'a.*.example', {_HTTP}}}]}}"
    ),
    "ingress_host_port": obj(
        "networking.k8s.io/v1/Ingress i", f"spec: {{rules: [{{host: 'a.example:80', {_HTTP}}}]}}"
    ),
    "ingress_no_backend": obj(
        "networking.k8s.io/v1/Ingress i",
        "spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {}}]}}]}",
    ),
    "ingress_no_port": obj(
        "networking.k8s.io/v1/Ingress i",
        "spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s}}}]}}]}",
    ),
    "ingress_backend_name": obj(
        "networking.k8s.io/v1/Ingress i", "spec: {defaultBackend: {service: {name: S_, port: {number: 0}}}}"
    ),
    "ingress_no_paths": obj("networking.k8s.io/v1/Ingress i", "spec: {rules: [{http: {paths: []}}]}"),
    "ingress_tls": obj(
        "networking.k8s.io/v1/Ingress i",
        f"spec: {{tls: [{{hosts: ['a b'], secretName: S_}}], rules: [{{{_HTTP}}}]}}",
    ),
    "ingress_class_annotation": obj(
        "networking.k8s.io/v1/Ingress i",
        f"{{metadata: {{annotations: {{kubernetes.io/ingress.class: nginx}}}}, spec: {{rules: [{{{_HTTP}}}]}}}}",
    ),
    "ingress_class_name": obj(
        "networking.k8s.io/v1/Ingress i", f"spec: {{ingressClassName: A_, rules: [{{{_HTTP}}}]}}"
    ),
    "claim_modes": obj(
        "v1/PersistentVolumeClaim p", "spec: {accessModes: [Write], resources: {requests: {storage: 1Gi}}}"
    ),
    "claim_no_modes": obj("v1/PersistentVolumeClaim p", "spec: {resources: {requests: {storage: 1Gi}}}"),
    "claim_no_size": obj("v1/PersistentVolumeClaim p", "spec: {accessModes: [ReadWriteOnce]}"),
    "claim_pod_and_more": obj(
        "v1/PersistentVolumeClaim p",
        "spec: {accessModes: [ReadWriteOncePod, ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
    ),
    "claim_class_name": obj(
        "v1/PersistentVolumeClaim p",
        "spec: {storageClassName: A_, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
    ),
    "claim_volume_mode": obj(
        "v1/PersistentVolumeClaim p",
        "spec: {volumeMode: Tape, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
    ),
    "claim_fraction": obj(
        "v1/PersistentVolumeClaim p",
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1.5}}}",
    ),
    "volume_nothing": obj("v1/PersistentVolume nsaaaa-v", "spec: {}"),
    "volume_no_source": obj(
        "v1/PersistentVolume nsaaaa-v", "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]}"
    ),
    "volume_policy": obj(
        "v1/PersistentVolume nsaaaa-v",
        "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}, persistentVolumeReclaimPolicy: Burn}",
    ),
    "volume_capacity": obj(
        "v1/PersistentVolume nsaaaa-v",
        "spec: {capacity: {cpu: 1}, accessModes: [ReadWriteOnce], hostPath: {path: /x/../y}}",
    ),
    "hpa_min": obj(
        "autoscaling/v2/HorizontalPodAutoscaler h", f"spec: {{{_HPA}, minReplicas: 0, maxReplicas: 1}}"
    ),
    "hpa_max": obj(
        "autoscaling/v2/HorizontalPodAutoscaler h", f"spec: {{{_HPA}, minReplicas: 5, maxReplicas: 1}}"
    ),
    "hpa_no_max": obj("autoscaling/v2/HorizontalPodAutoscaler h", f"spec: {{{_HPA}}}"),
    "hpa_no_target": obj("autoscaling/v2/HorizontalPodAutoscaler h", "spec: {maxReplicas: 5}"),
    "hpa_metric_type": obj(
        "autoscaling/v2/HorizontalPodAutoscaler h",
        f"spec: {{{_HPA}, maxReplicas: 5, metrics: [{{type: Other}}]}}",
    ),
    "hpa_metric_mismatch": obj(
        "autoscaling/v2/HorizontalPodAutoscaler h",
        f"spec: {{{_HPA}, maxReplicas: 5, metrics: [{{type: Pods, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 80}}}}}}]}}",
    ),
    "hpa_metric_no_target": obj(
        "autoscaling/v2/HorizontalPodAutoscaler h",
        f"spec: {{{_HPA}, maxReplicas: 5, metrics: [{{type: Resource, resource: {{name: cpu, target: {{type: Utilization}}}}}}]}}",
    ),
    "hpa_utilization": obj(
        "autoscaling/v2/HorizontalPodAutoscaler h",
        f"spec: {{{_HPA}, maxReplicas: 5, metrics: [{{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 0}}}}}}]}}",
    ),
    "hpa_behavior": obj(
        "autoscaling/v2/HorizontalPodAutoscaler h",
        f"spec: {{{_HPA}, maxReplicas: 5, behavior: {{scaleUp: {{stabilizationWindowSeconds: 9999, selectPolicy: Any, policies: []}}}}}}",
    ),
    "budget_neither": obj("policy/v1/PodDisruptionBudget p", "spec: {selector: {}}"),
    "budget_number": obj("policy/v1/PodDisruptionBudget p", "spec: {minAvailable: -1}"),
    "budget_eviction": obj(
        "policy/v1/PodDisruptionBudget p", "spec: {minAvailable: 1, unhealthyPodEvictionPolicy: Maybe}"
    ),
    "role_no_verbs": obj(
        "rbac.authorization.k8s.io/v1/Role r", "rules: [{apiGroups: [''], resources: [pods]}]"
    ),
    "role_no_groups": obj(
        "rbac.authorization.k8s.io/v1/Role r", "rules: [{resources: [pods], verbs: [get]}]"
    ),
    "cluster_role_both": obj(
        "rbac.authorization.k8s.io/v1/ClusterRole nsaaaa-r",
        "rules: [{apiGroups: [''], resources: [pods], nonResourceURLs: [/x], verbs: [get]}]",
    ),
    "binding_no_ref": obj("rbac.authorization.k8s.io/v1/RoleBinding r", "subjects: [{kind: User, name: u}]"),
    "binding_kind": obj(
        "rbac.authorization.k8s.io/v1/RoleBinding r",
        "{roleRef: {kind: Other, name: r}, subjects: [{kind: User, name: ''}, {kind: ServiceAccount, name: a}]}",
    ),
    "binding_group": obj(
        "rbac.authorization.k8s.io/v1/RoleBinding r",
        "{roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: u, apiGroup: x}]}",
    ),
    "cluster_binding_role": obj(
        "rbac.authorization.k8s.io/v1/ClusterRoleBinding nsaaaa-r", "roleRef: {kind: Role, name: r}"
    ),
    "secret_base64": obj("v1/Secret s", "data: {a: '%%'}"),
    "secret_key": obj("v1/Secret s", "stringData: {'a b': c}"),
    "secret_tls": obj("v1/Secret s", "{type: kubernetes.io/tls, data: {tls.crt: aGk=}}"),
    "secret_ssh": obj("v1/Secret s", "type: kubernetes.io/ssh-auth"),
    "secret_docker": obj("v1/Secret s", "{type: kubernetes.io/dockercfg, data: {}}"),
    "secret_dockerjson": obj(
        "v1/Secret s", "{type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: nonsense}}"
    ),
    "secret_token": obj(
        "v1/Secret s",
        "{type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.name: a}}}",
    ),
    "config_map_key": obj("v1/ConfigMap c", "data: {'a/b': c}"),
    "config_map_dots": obj("v1/ConfigMap c", "data: {'..': c, '.': d, '..x': e}"),
    "quota_name": obj("v1/ResourceQuota q", "spec: {hard: {'a b': 1}}"),
    "quota_scope": obj("v1/ResourceQuota q", "spec: {hard: {requests.storage: 1Gi}, scopes: [BestEffort]}"),
    "quota_scope_unknown": obj("v1/ResourceQuota q", "spec: {hard: {pods: 1}, scopes: [Weekends]}"),
    "quota_fraction": obj("v1/ResourceQuota q", "spec: {hard: {pods: 1.5}}"),
    "limits_type": obj("v1/LimitRange l", "spec: {limits: [{type: Galaxy, max: {cpu: 1}}]}"),
    "limits_order": obj(
        "v1/LimitRange l",
        "spec: {limits: [{type: Container, max: {cpu: 1}, min: {cpu: 2}, default: {cpu: 3}}]}",
    ),
    "limits_pod_default": obj("v1/LimitRange l", "spec: {limits: [{type: Pod, default: {cpu: 1}}]}"),
    "limits_twice": obj(
        "v1/LimitRange l",
        "spec: {limits: [{type: Container, max: {cpu: 1}}, {type: Container, max: {cpu: 2}}]}",
    ),
    "netpol_port": obj(
        "networking.k8s.io/v1/NetworkPolicy n",
        "spec: {podSelector: {}, ingress: [{ports: [{port: 0}, {port: 70000, protocol: X}]}]}",
    ),
    "netpol_end": obj(
        "networking.k8s.io/v1/NetworkPolicy n",
        "spec: {podSelector: {}, ingress: [{ports: [{port: 10, endPort: 5}, {endPort: 5}]}]}",
    ),
    "netpol_peer": obj(
        "networking.k8s.io/v1/NetworkPolicy n",
        "spec: {podSelector: {}, ingress: [{from: [{}, {podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}]}",
    ),
    "netpol_cidr": obj(
        "networking.k8s.io/v1/NetworkPolicy n",
        "spec: {podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0, except: [1.1.1.0/24]}}]}]}",
    ),
    "netpol_types": obj(
        "networking.k8s.io/v1/NetworkPolicy n", "spec: {podSelector: {}, policyTypes: [Sideways]}"
    ),
    "storage_class_empty": obj("storage.k8s.io/v1/StorageClass nsaaaa-s"),
    "storage_class_words": obj(
        "storage.k8s.io/v1/StorageClass nsaaaa-s",
        "{provisioner: 'a b', reclaimPolicy: Recycle, volumeBindingMode: Soon}",
    ),
    "priority_no_value": obj("scheduling.k8s.io/v1/PriorityClass nsaaaa-p"),
    "priority_big": obj("scheduling.k8s.io/v1/PriorityClass nsaaaa-p", "value: 2000000000"),
    "priority_policy": obj(
        "scheduling.k8s.io/v1/PriorityClass nsaaaa-p", "{value: 1, preemptionPolicy: Sometimes}"
    ),
    "ingress_class_controller": obj("networking.k8s.io/v1/IngressClass nsaaaa-i", "spec: {controller: abc}"),
    "slice_type": obj("discovery.k8s.io/v1/EndpointSlice e", "{addressType: MAC, endpoints: []}"),
    "slice_no_type": obj("discovery.k8s.io/v1/EndpointSlice e", "endpoints: []"),
    "endpoints_ip": obj("v1/Endpoints e", "subsets: [{addresses: [{ip: x}], ports: [{port: 0}]}]"),
    "lease_words": obj(
        "coordination.k8s.io/v1/Lease l", "spec: {leaseDurationSeconds: 0, leaseTransitions: -1, strategy: X}"
    ),
    "runtime_handler": obj("node.k8s.io/v1/RuntimeClass nsaaaa-r", "handler: A_"),
    "webhook_name": obj(
        "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration nsaaaa-w",
        "webhooks: [{name: a, clientConfig: {url: 'http://x'}, sideEffects: Some, admissionReviewVersions: []}]",
    ),
    "webhook_rules": obj(
        "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration nsaaaa-w",
        "webhooks: [{name: a.b.c, clientConfig: {}, sideEffects: None, admissionReviewVersions: [v1], timeoutSeconds: 99, rules: [{operations: [EAT], apiGroups: [], apiVersions: ['*', v1], resources: ['*', pods]}]}]",
    ),
    "policy_binding": obj(
        "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding nsaaaa-w",
        "spec: {validationActions: [Deny, Warn, Nope]}",
    ),
    "policy_empty": obj("admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy nsaaaa-w", "spec: {}"),
    "event_namespace": obj("v1/Event e", "{involvedObject: {kind: Pod, name: p, namespace: other}}"),
    "namespace_finalizers": obj("v1/Namespace nsaaaa-x", "spec: {finalizers: [x]}"),
    "account_secrets": obj("v1/ServiceAccount a", "secrets: [{}]"),
    "api_service_local": obj(
        "apiregistration.k8s.io/v1/APIService v1.x.nsaaaa.example",
        "spec: {group: nsaaaa.example, version: v1, groupPriorityMinimum: 100, versionPriority: 10}",
    ),
    "node_taint": obj("v1/Node nsaaaa-n", "spec: {taints: [{key: '', effect: X}]}"),
    "replicaset_empty": obj("apps/v1/ReplicaSet r", "spec: {}"),
    "controller_revision_empty": obj("apps/v1/ControllerRevision r"),
    "pod_template_empty": obj("v1/PodTemplate t"),
}
_METAS = (
    "name: ''",
    "name: A",
    "name: a_b",
    "name: a..b",
    "name: -a",
    "name: 5",
    f"name: {'a' * 254}",
    "name: null",
    "generateName: a-",
    "{name: a, generateName: b-}",
    "{name: a, namespace: other}",
    "{name: a, labels: {'a b': c}}",
    "{name: a, labels: {a: 'b c'}}",
    f"{{name: a, labels: {{{'k' * 64}: v}}}}",
    f"{{name: a, labels: {{a: {'v' * 64}}}}}",
    "{name: a, labels: {a/b/c: d}}",
    "{name: a, labels: {A.example/b: d}}",
    "{name: a, labels: {'': d}}",
    "{name: a, labels: {a: -b}}",
    "{name: a, annotations: {'a b': c}}",
    "{name: a, annotations: {A/b: c}}",
    "{name: a, finalizers: [x]}",
    "{name: a, finalizers: [x/y, 'a b']}",
    "{name: a, finalizers: [foregroundDeletion, orphan]}",
    "{name: a, ownerReferences: [{}]}",
    "{name: a, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}, {apiVersion: v1, kind: Pod, name: q, uid: w, controller: true}]}",
    "{name: a, ownerReferences: [{apiVersion: v1, kind: Event, name: p, uid: u}]}",
    "{name: a, ownerReferences: [{apiVersion: a/b/c, kind: Pod, name: p, uid: u}]}",
    "{name: a, resourceVersion: '5'}",
    "{name: a, uid: abc, creationTimestamp: '2020-01-01T00:00:00Z', generation: 5, selfLink: x}",
    "{name: a, deletionTimestamp: '2020-01-01T00:00:00Z'}",
    "{name: a, managedFields: [{manager: x, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {}}}]}",
    "{name: a, clusterName: x}",
    "{name: a, labels: null, annotations: {}}",
)
_CM = obj("v1/ConfigMap c", "data: {a: b}")
_UNKNOWN = obj(
    "apps/v1/Deployment web",
    f"{{foo: 1, spec: {{{LABELS}, bar: 2, template: {{metadata: {{labels: {{app: web}}, baz: 3}}, spec: {{containers: [{{name: c, image: a, qux: 4, Image: b}}]}}}}}}}}",
)

CASES: tuple[Case, ...] = (
    *(
        case(
            f"pod_{name}",
            create(pod(spec)),
            create(
                obj(
                    "apps/v1/Deployment web",
                    f"spec: {{{LABELS}, template: {{metadata: {{labels: {{app: web}}}}, spec: {spec}}}}}",
                )
            ),
        )
        for name, spec in _PODS.items()
    ),
    *(case(name, create(body), get(body)) for name, body in _OBJECTS.items()),
    *(
        case(
            f"meta_{number}",
            create(obj("v1/ConfigMap", f"metadata: {meta if meta.startswith('{') else '{' + meta + '}'}")),
            create(
                obj(
                    "v1/Service",
                    f"{{spec: {{ports: [{{port: 80}}]}}, metadata: {meta if meta.startswith('{') else '{' + meta + '}'}}}",
                )
            ),
        )
        for number, meta in enumerate(_METAS)
    ),
    *(
        case(
            f"unknown_{mode or 'none'}",
            create(_UNKNOWN, validation=mode),
            create(workload("apps/v1/Deployment", name="b"), validation=mode),
            patch(
                "merge",
                workload("apps/v1/Deployment", name="b"),
                "{spec: {foo: 1, template: {spec: {bar: 2}}}}",
                validation=mode,
            ),
            patch(
                "strategic",
                workload("apps/v1/Deployment", name="b"),
                "{spec: {foo: 1, template: {spec: {containers: [{name: c, zap: 2}]}}}}",
                validation=mode,
            ),
            patch(
                "json",
                workload("apps/v1/Deployment", name="b"),
                "[{op: add, path: /spec/foo, value: 1}]",
                validation=mode,
            ),
            edit(
                workload("apps/v1/Deployment", name="b"), "{spec: {foo: 1}, extra: {a: b}}", validation=mode
            ),
        )
        for mode in ("", "Strict", "Warn", "Ignore", "strict")
    ),
    case(
        "put_wrong",
        create(_CM),
        put(obj("v1/ConfigMap c", "metadata: {resourceVersion: '1'}")),
        put(obj("v1/ConfigMap c", "metadata: {uid: x}")),
        put(obj("v1/ConfigMap none")),
        edit(_CM, "metadata: {name: other}"),
        edit(_CM, "kind: Secret"),
        edit(_CM, "apiVersion: v2"),
        edit(_CM, "metadata: {resourceVersion: abc}"),
        edit(_CM, "metadata: null"),
    ),
)
