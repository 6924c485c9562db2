# ruff: noqa: E501  (a table: one object on a line)
"""Changes that the server refuses, for every kind that has them, and some beside them that it takes."""

from __future__ import annotations

from suites.cluster.cases.workloads import workload
from suites.cluster.steps import Case, case, create, edit, obj, patch, put, ssa
from whysync.json_tree import Object

_JOB = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: a}]}}"
_CLAIM = (
    "{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
)
_TARGETS: dict[str, Object] = {
    "deployment": workload("apps/v1/Deployment"),
    "stateful": workload("apps/v1/StatefulSet", f"serviceName: web, volumeClaimTemplates: [{_CLAIM}]"),
    "daemon": workload("apps/v1/DaemonSet"),
    "replicaset": workload("apps/v1/ReplicaSet"),
    "job": obj("batch/v1/Job j", f"spec: {{{_JOB}}}"),
    "cronjob": obj(
        "batch/v1/CronJob c", f"spec: {{schedule: '*/5 * * * *', jobTemplate: {{spec: {{{_JOB}}}}}}}"
    ),
    "pod": obj("v1/Pod p", "spec: {containers: [{name: c, image: a}, {name: d, image: b}]}"),
    "service": obj("v1/Service s", "spec: {selector: {app: web}, ports: [{port: 80}]}"),
    "headless": obj("v1/Service s", "spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}"),
    "balancer": obj("v1/Service s", "spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}"),
    "balancer_class": obj(
        "v1/Service s",
        "spec: {type: LoadBalancer, loadBalancerClass: a.example/b, selector: {app: web}, ports: [{port: 80}]}",
    ),
    "external_name": obj("v1/Service s", "spec: {type: ExternalName, externalName: a.example}"),
    "claim": obj(
        "v1/PersistentVolumeClaim p",
        "spec: {accessModes: [ReadWriteOnce], storageClassName: slow, resources: {requests: {storage: 1Gi}}}",
    ),
    "volume": obj(
        "v1/PersistentVolume nsaaaa-v",
        "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}}",
    ),
    "secret": obj("v1/Secret s", "{data: {a: aGk=}, immutable: true}"),
    "secret_typed": obj("v1/Secret s", "{data: {a: aGk=}, type: a.example/b}"),
    "config_map": obj("v1/ConfigMap c", "{data: {a: b}, immutable: true}"),
    "role_binding": obj(
        "rbac.authorization.k8s.io/v1/RoleBinding r",
        "{roleRef: {kind: Role, name: r, apiGroup: rbac.authorization.k8s.io}}",
    ),
    "cluster_role_binding": obj(
        "rbac.authorization.k8s.io/v1/ClusterRoleBinding nsaaaa-b",
        "{roleRef: {kind: ClusterRole, name: view, apiGroup: rbac.authorization.k8s.io}}",
    ),
    "storage_class": obj(
        "storage.k8s.io/v1/StorageClass nsaaaa-s", "{provisioner: a.example, parameters: {a: b}}"
    ),
    "priority_class": obj("scheduling.k8s.io/v1/PriorityClass nsaaaa-p", "{value: 10}"),
    "ingress_class": obj("networking.k8s.io/v1/IngressClass nsaaaa-i", "spec: {controller: a.example/b}"),
    "runtime_class": obj("node.k8s.io/v1/RuntimeClass nsaaaa-r", "handler: runc"),
    "budget": obj(
        "policy/v1/PodDisruptionBudget p", "spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}"
    ),
    "endpoint_slice": obj(
        "discovery.k8s.io/v1/EndpointSlice e", "{addressType: IPv4, endpoints: [{addresses: [10.1.1.1]}]}"
    ),
    "controller_revision": obj("apps/v1/ControllerRevision r", "{revision: 1, data: {a: 1}}"),
    "csi_driver": obj("storage.k8s.io/v1/CSIDriver nsaaaa.example", "spec: {attachRequired: true}"),
    "volume_attachment": obj(
        "storage.k8s.io/v1/VolumeAttachment nsaaaa-a",
        "spec: {attacher: a.example, nodeName: n, source: {persistentVolumeName: v}}",
    ),
    "attributes_class": obj(
        "storage.k8s.io/v1/VolumeAttributesClass nsaaaa-a", "{driverName: a.example, parameters: {a: b}}"
    ),
    "resource_claim": obj(
        "resource.k8s.io/v1/ResourceClaim c",
        "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: d}}]}}",
    ),
    "claim_template": obj(
        "resource.k8s.io/v1/ResourceClaimTemplate c",
        "spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: d}}]}}}",
    ),
    "csi_node": obj(
        "storage.k8s.io/v1/CSINode nsaaaa-n",
        "spec: {drivers: [{name: a.example, nodeID: n, topologyKeys: [a]}]}",
    ),
    "storage_capacity": obj("storage.k8s.io/v1/CSIStorageCapacity c", "{storageClassName: a, capacity: 1Gi}"),
    "certificate_request": obj(
        "certificates.k8s.io/v1/CertificateSigningRequest nsaaaa-c",
        "spec: {request: bm90IG9uZQ==, signerName: a.example/b, usages: [client auth]}",
    ),
    "namespace": obj("v1/Namespace nsaaaa-x"),
    "event": obj(
        "v1/Event e", "{involvedObject: {kind: Pod, name: p, namespace: nsaaaa}, reason: R, message: m}"
    ),
    "node": obj("v1/Node nsaaaa-n", "spec: {podCIDR: 10.1.0.0/24}"),
    "quota": obj("v1/ResourceQuota q", "spec: {hard: {pods: 10}, scopes: [NotTerminating]}"),
    "lease": obj("coordination.k8s.io/v1/Lease l", "spec: {holderIdentity: h}"),
    "service_cidr": obj("networking.k8s.io/v1/ServiceCIDR nsaaaa-s", "spec: {cidrs: [10.96.98.0/24]}"),
}
_CHANGES: dict[str, tuple[str, ...]] = {
    "deployment": (
        "spec: {selector: {matchLabels: {app: other}}}",
        "spec: {selector: {matchLabels: {app: other}}, template: {metadata: {labels: {app: other}}}}",
        "spec: {selector: {matchLabels: {app: null}}}",
        "spec: {template: {metadata: {labels: {app: null}}}}",
        "spec: {selector: null}",
        "spec: {template: {spec: {containers: []}}}",
        "spec: {template: {spec: {restartPolicy: Never}}}",
        "spec: {replicas: -1}",
        "metadata: {name: other}",
        "metadata: {namespace: other}",
        "metadata: {uid: 00000000-0000-0000-0000-000000000000}",
        "metadata: {creationTimestamp: '2020-01-01T00:00:00Z'}",
        "metadata: {generation: 7, selfLink: x}",
        "metadata: {deletionTimestamp: '2020-01-01T00:00:00Z'}",
    ),
    "stateful": (
        "spec: {serviceName: other}",
        "spec: {podManagementPolicy: Parallel}",
        "spec: {selector: {matchLabels: {b: c}}}",
        "spec: {volumeClaimTemplates: null}",
        "spec: {revisionHistoryLimit: 3}",
        "spec: {minReadySeconds: 3}",
        "spec: {persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}}",
        "spec: {template: {spec: {nodeSelector: {a: b}}}}",
        "spec: {serviceName: other, replicas: 3}",
        "spec: {template: {metadata: {labels: {app: x}}}}",
        "spec: {ordinals: {start: 2}}",
    ),
    "daemon": (
        "spec: {selector: {matchLabels: {b: c}}}",
        "spec: {minReadySeconds: 3}",
        "spec: {template: {metadata: {labels: {app: x}}}}",
    ),
    "replicaset": (
        "spec: {selector: {matchLabels: {b: c}}}",
        "spec: {replicas: 3}",
        "spec: {template: {spec: {nodeSelector: {a: b}}}}",
    ),
    "job": (
        "spec: {completions: 3}",
        "spec: {selector: {matchLabels: {a: b}}}",
        "spec: {template: {spec: {restartPolicy: OnFailure}}}",
        "spec: {template: {spec: {containers: [{name: c, image: b}]}}}",
        "spec: {suspend: true}",
        "spec: {completionMode: Indexed}",
        "spec: {podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: A, status: 'True'}]}]}}",
        "spec: {podReplacementPolicy: Failed}",
        "spec: {parallelism: 0, ttlSecondsAfterFinished: 4}",
        "spec: {backoffLimit: -2}",
        "spec: {activeDeadlineSeconds: 0}",
        "spec: {template: {spec: {nodeSelector: {a: b}}}}",
        "spec: {template: {metadata: {annotations: {a: b}}}}",
        "spec: {manualSelector: true}",
        "spec: {maxFailedIndexes: 1}",
        "spec: {managedBy: a.example/b}",
    ),
    "cronjob": (
        "spec: {schedule: ''}",
        "spec: {schedule: '* * *'}",
        "spec: {concurrencyPolicy: Sometimes}",
        "spec: {suspend: null}",
        "spec: {jobTemplate: {spec: {template: {spec: {restartPolicy: Always}}}}}",
        "spec: {timeZone: Nowhere/Land}",
        "spec: {startingDeadlineSeconds: -1}",
        "spec: {successfulJobsHistoryLimit: -1}",
    ),
    "pod": (
        "spec: {containers: [{name: c, image: new}, {name: d, image: b}]}",
        "spec: {containers: [{name: c, image: a}]}",
        "spec: {containers: [{name: c, image: a, command: [x]}, {name: d, image: b}]}",
        "spec: {nodeName: n}",
        "spec: {restartPolicy: Never}",
        "spec: {activeDeadlineSeconds: 30}",
        "spec: {terminationGracePeriodSeconds: 1}",
        "spec: {tolerations: []}",
        "spec: {hostNetwork: true}",
        "spec: {priority: 5}",
        "spec: {serviceAccountName: x}",
        "spec: {volumes: [{name: v, emptyDir: {}}]}",
        "spec: {containers: [{name: c, image: ''}, {name: d, image: b}]}",
        "spec: {nodeSelector: {a: b}}",
        "spec: {schedulingGates: [{name: a.example/b}]}",
        "spec: {initContainers: [{name: i, image: a}]}",
    ),
    "service": (
        "spec: {clusterIP: 10.96.77.77}",
        "spec: {clusterIP: None}",
        "spec: {type: ExternalName, externalName: a.example}",
        "spec: {type: LoadBalancer}",
        "spec: {ports: []}",
        "spec: {ports: [{port: 80}, {port: 81}]}",
        "spec: {ports: [{port: 0}]}",
        "spec: {ipFamilies: [IPv6]}",
        "spec: {selector: null}",
        "spec: {sessionAffinity: ClientIP}",
        "spec: {type: NodePort, ports: [{port: 80, nodePort: 80}]}",
        "spec: {externalName: x}",
        "spec: {healthCheckNodePort: 30001}",
        "spec: {loadBalancerClass: a.example/b}",
        "spec: {ports: [{port: 80, targetPort: 70000}]}",
        "spec: {ports: [{port: 80, targetPort: 'too-long-a-name-for-a-port'}]}",
        "spec: {type: ClusterIP, externalTrafficPolicy: Local}",
        "spec: {ipFamilyPolicy: RequireDualStack}",
        "spec: {internalTrafficPolicy: Other}",
    ),
    "headless": (
        "spec: {clusterIP: 10.96.77.78}",
        "spec: {clusterIP: ''}",
        "spec: {type: NodePort}",
        "spec: {ports: null}",
    ),
    "balancer": (
        "spec: {loadBalancerClass: a.example/b}",
        "spec: {externalTrafficPolicy: Local}",
        "spec: {type: ClusterIP}",
        "spec: {allocateLoadBalancerNodePorts: false}",
        "spec: {loadBalancerIP: 192.0.2.1}",
    ),
    "balancer_class": (
        "spec: {loadBalancerClass: a.example/c}",
        "spec: {loadBalancerClass: null}",
        "spec: {type: ClusterIP}",
    ),
    "external_name": (
        "spec: {externalName: ''}",
        "spec: {type: ClusterIP, externalName: null, ports: [{port: 80}]}",
        "spec: {externalName: UPPER}",
    ),
    "claim": (
        "spec: {accessModes: [ReadWriteMany]}",
        "spec: {storageClassName: other}",
        "spec: {resources: {requests: {storage: 2Gi}}}",
        "spec: {volumeName: v}",
        "spec: {resources: {requests: {storage: 512Mi}}}",
        "spec: {resources: {requests: {cpu: 1}}}",
        "spec: {volumeMode: Block}",
        "spec: {dataSource: {kind: PersistentVolumeClaim, name: o}}",
        "spec: {volumeAttributesClassName: a}",
    ),
    "volume": (
        "spec: {hostPath: {path: /y}}",
        "spec: {hostPath: null, nfs: {server: n, path: /}}",
        "spec: {capacity: {storage: 2Gi}}",
        "spec: {accessModes: [ReadWriteMany]}",
        "spec: {volumeMode: Block}",
        "spec: {persistentVolumeReclaimPolicy: Recycle}",
        "spec: {storageClassName: x}",
        "spec: {claimRef: {namespace: a, name: b}}",
    ),
    "secret": (
        "data: {a: Ynk=}",
        "data: null",
        "immutable: false",
        "immutable: null",
        "metadata: {labels: {a: b}}",
        "stringData: {a: x}",
        "type: other",
    ),
    "secret_typed": ("type: other", "type: ''", "data: {a: null}"),
    "config_map": (
        "data: {a: c}",
        "data: {b: c}",
        "immutable: false",
        "binaryData: {x: aGk=}",
        "metadata: {annotations: {a: b}}",
        "data: null",
    ),
    "role_binding": (
        "roleRef: {name: other}",
        "roleRef: {kind: ClusterRole}",
        "subjects: [{kind: User, name: u}]",
        "roleRef: null",
    ),
    "cluster_role_binding": ("roleRef: {name: edit}", "roleRef: {kind: Role}"),
    "storage_class": (
        "provisioner: b.example",
        "parameters: {a: c}",
        "reclaimPolicy: Retain",
        "volumeBindingMode: WaitForFirstConsumer",
        "allowVolumeExpansion: true",
        "mountOptions: [ro]",
    ),
    "priority_class": ("value: 11", "preemptionPolicy: Never", "description: d"),
    "ingress_class": (
        "spec: {controller: c.example/d}",
        "spec: {controller: null}",
        "spec: {parameters: {kind: K, name: n}}",
    ),
    "runtime_class": (
        "handler: other",
        "overhead: {podFixed: {cpu: 1}}",
        "scheduling: {nodeSelector: {a: b}}",
    ),
    "budget": (
        "spec: {selector: {matchLabels: {a: c}}}",
        "spec: {minAvailable: -1}",
        "spec: {minAvailable: 120%}",
        "spec: {maxUnavailable: 1}",
        "spec: {minAvailable: null, maxUnavailable: 1}",
        "spec: {minAvailable: abc}",
    ),
    "endpoint_slice": (
        "addressType: IPv6",
        "addressType: FQDN",
        "endpoints: []",
        "endpoints: [{addresses: [x]}]",
        "ports: [{port: 99999}]",
    ),
    "controller_revision": ("data: {a: 2}", "revision: 2", "revision: -1"),
    "csi_driver": (
        "spec: {attachRequired: false}",
        "spec: {podInfoOnMount: true}",
        "spec: {fsGroupPolicy: File}",
        "spec: {volumeLifecycleModes: [Ephemeral]}",
    ),
    "volume_attachment": ("spec: {nodeName: m}", "spec: {source: {persistentVolumeName: w}}"),
    "attributes_class": ("driverName: b.example", "parameters: {a: c}"),
    "resource_claim": ("spec: {devices: {requests: [{name: s, exactly: {deviceClassName: d}}]}}",),
    "claim_template": ("spec: {spec: {devices: {requests: [{name: s, exactly: {deviceClassName: d}}]}}}",),
    "csi_node": ("spec: {drivers: []}", "spec: {drivers: [{name: a.example, nodeID: m, topologyKeys: [a]}]}"),
    "storage_capacity": ("storageClassName: b", "capacity: 2Gi", "nodeTopology: {matchLabels: {a: b}}"),
    "certificate_request": ("spec: {signerName: a.example/c}", "spec: {usages: [server auth]}"),
    "namespace": (
        "metadata: {name: other}",
        "metadata: {labels: {kubernetes.io/metadata.name: x}}",
        "spec: {finalizers: []}",
    ),
    "event": ("message: n", "reason: S", "involvedObject: {name: q}"),
    "node": (
        "spec: {podCIDR: 10.2.0.0/24}",
        "spec: {podCIDR: null}",
        "spec: {unschedulable: true}",
        "spec: {providerID: a}",
    ),
    "quota": ("spec: {scopes: [Terminating]}", "spec: {hard: {pods: -1}}", "spec: {hard: {pods: 12}}"),
    "lease": ("spec: {leaseDurationSeconds: -1}", "spec: {holderIdentity: ''}"),
    "service_cidr": ("spec: {cidrs: [10.96.99.0/24]}",),
}


def _each() -> tuple[Case, ...]:
    result: list[Case] = []
    for name, changes in _CHANGES.items():
        body = _TARGETS[name]
        for number, change in enumerate(changes):
            result.append(
                case(f"{name}_{number}", create(body), edit(body, change), patch("merge", body, change))
            )
    return tuple(result)


CASES: tuple[Case, ...] = (
    *_each(),
    *(
        case(f"{name}_same_again", create(body), put(body), ssa(body, "one"), ssa(body, "two"))
        for name, body in _TARGETS.items()
    ),
)
