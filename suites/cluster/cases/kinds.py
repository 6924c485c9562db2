# ruff: noqa: E501  (a table: one object on a line)
"""Objects of the other built-in kinds, from the smallest to full ones: defaults, and a second write."""

from __future__ import annotations

from suites.cluster.steps import Case, case, create, edit, get, obj, patch, put
from whysync.json_tree import Object

_PORTS = "ports: [{port: 80}]"
_WEB = "spec: {selector: {app: web}, "

_OBJECTS: dict[str, Object] = {
    "service": obj("v1/Service s", f"{_WEB}{_PORTS}}}"),
    "service_named_ports": obj(
        "v1/Service s",
        f"{_WEB}ports: [{{port: 80, name: web, targetPort: http}}, {{port: 443, name: tls, protocol: TCP, appProtocol: https}}]}}",
    ),
    "service_headless": obj("v1/Service s", f"{_WEB}clusterIP: None, {_PORTS}}}"),
    "service_headless_publish": obj(
        "v1/Service s", f"{_WEB}clusterIP: None, publishNotReadyAddresses: true}}"
    ),
    "service_nodeport": obj("v1/Service s", f"{_WEB}type: NodePort, {_PORTS}}}"),
    "service_nodeport_local": obj(
        "v1/Service s", f"{_WEB}type: NodePort, externalTrafficPolicy: Local, {_PORTS}}}"
    ),
    "service_balancer": obj("v1/Service s", f"{_WEB}type: LoadBalancer, {_PORTS}}}"),
    "service_balancer_local": obj(
        "v1/Service s", f"{_WEB}type: LoadBalancer, externalTrafficPolicy: Local, {_PORTS}}}"
    ),
    "service_balancer_class": obj(
        "v1/Service s",
        f"{_WEB}type: LoadBalancer, loadBalancerClass: a.example/b, allocateLoadBalancerNodePorts: false, loadBalancerSourceRanges: [10.0.0.0/8], {_PORTS}}}",
    ),
    "service_external_name": obj("v1/Service s", "spec: {type: ExternalName, externalName: a.example}"),
    "service_no_selector": obj("v1/Service s", f"spec: {{{_PORTS}}}"),
    "service_affinity": obj("v1/Service s", f"{_WEB}sessionAffinity: ClientIP, {_PORTS}}}"),
    "service_affinity_config": obj(
        "v1/Service s",
        f"{_WEB}sessionAffinity: ClientIP, sessionAffinityConfig: {{clientIP: {{timeoutSeconds: 60}}}}, {_PORTS}}}",
    ),
    "service_external_ips": obj("v1/Service s", f"{_WEB}externalIPs: [192.0.2.1], {_PORTS}}}"),
    "service_internal_policy": obj(
        "v1/Service s", f"{_WEB}internalTrafficPolicy: Local, trafficDistribution: PreferClose, {_PORTS}}}"
    ),
    "service_families": obj(
        "v1/Service s", f"{_WEB}ipFamilyPolicy: SingleStack, ipFamilies: [IPv4], {_PORTS}}}"
    ),
    "service_sctp": obj("v1/Service s", f"{_WEB}ports: [{{port: 80, protocol: SCTP}}]}}"),
    "config_map": obj("v1/ConfigMap c", "{data: {a: b, c: ''}, binaryData: {d: aGk=}}"),
    "config_map_immutable": obj("v1/ConfigMap c", "{data: {a: b}, immutable: true}"),
    "secret": obj("v1/Secret s", "data: {a: aGk=}"),
    "secret_string": obj("v1/Secret s", "{stringData: {a: hi, b: ''}, data: {a: aGg=}}"),
    "secret_ssh": obj("v1/Secret s", "{type: kubernetes.io/ssh-auth, stringData: {ssh-privatekey: k}}"),
    "secret_own_type": obj("v1/Secret s", "{type: a.example/b, immutable: true}"),
    "secret_bootstrap": obj(
        "v1/Secret s", "{type: bootstrap.kubernetes.io/token, stringData: {token-id: abcdef}}"
    ),
    "account": obj("v1/ServiceAccount a"),
    "account_full": obj(
        "v1/ServiceAccount a",
        "{secrets: [{name: s}], imagePullSecrets: [{name: r}], automountServiceAccountToken: true}",
    ),
    "claim": obj(
        "v1/PersistentVolumeClaim p",
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
    ),
    "claim_full": obj(
        "v1/PersistentVolumeClaim p",
        "spec: {accessModes: [ReadWriteMany, ReadOnlyMany], storageClassName: fast, volumeMode: Block, volumeName: v, "
        "selector: {matchLabels: {a: b}}, resources: {requests: {storage: 1024Mi}, limits: {storage: 2Gi}}}",
    ),
    "claim_old_class": obj(
        "v1/PersistentVolumeClaim p",
        "{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: slow}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}",
    ),
    "claim_no_class": obj(
        "v1/PersistentVolumeClaim p",
        "spec: {accessModes: [ReadWriteOncePod], storageClassName: '', resources: {requests: {storage: 1.5Gi}}}",
    ),
    "volume": obj(
        "v1/PersistentVolume NSv".replace("NS", "nsaaaa-"),
        "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}, storageClassName: slow}",
    ),
    "volume_csi": obj(
        "v1/PersistentVolume nsaaaa-c",
        "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: a.example, volumeHandle: h}, persistentVolumeReclaimPolicy: Delete, "
        "claimRef: {namespace: d, name: p}, mountOptions: [ro], volumeMode: Filesystem}",
    ),
    "volume_nfs": obj(
        "v1/PersistentVolume nsaaaa-n",
        "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], nfs: {server: n, path: /}}",
    ),
    "volume_local": obj(
        "v1/PersistentVolume nsaaaa-l",
        "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], local: {path: /x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: "
        "[{key: a, operator: In, values: [b]}]}]}}}",
    ),
    "endpoints": obj(
        "v1/Endpoints e", "subsets: [{addresses: [{ip: 10.1.1.2}, {ip: 10.1.1.1}], ports: [{port: 80}]}]"
    ),
    "endpoint_slice": obj(
        "discovery.k8s.io/v1/EndpointSlice e",
        "{addressType: IPv4, endpoints: [{addresses: [10.1.1.1]}], ports: [{port: 80}], metadata: {labels: {kubernetes.io/service-name: s}}}",
    ),
    "limit_range": obj(
        "v1/LimitRange l",
        "spec: {limits: [{type: Container, default: {cpu: 500m}, defaultRequest: {cpu: 100m}, max: {cpu: 2}, min: {cpu: 50m}}, {type: Pod, max: {cpu: 4}}, "
        "{type: PersistentVolumeClaim, max: {storage: 5Gi}}]}",
    ),
    "quota": obj(
        "v1/ResourceQuota q",
        "spec: {hard: {cpu: 1000m, requests.memory: 1024Mi, pods: '10', count/deployments.apps: 5}}",
    ),
    "quota_scopes": obj("v1/ResourceQuota q", "spec: {hard: {pods: 10}, scopes: [NotTerminating]}"),
    "ingress": obj(
        "networking.k8s.io/v1/Ingress i",
        "spec: {rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}",
    ),
    "ingress_full": obj(
        "networking.k8s.io/v1/Ingress i",
        "spec: {ingressClassName: n, tls: [{hosts: [a.example], secretName: s}], defaultBackend: {service: {name: s, port: {name: web}}}, rules: [{http: "
        "{paths: [{pathType: ImplementationSpecific, backend: {service: {name: s, port: {number: 80}}}}]}}, {host: '*.b.example'}]}",
    ),
    "ingress_resource_backend": obj(
        "networking.k8s.io/v1/Ingress i",
        "spec: {defaultBackend: {resource: {apiGroup: a.example, kind: Bucket, name: b}}}",
    ),
    "ingress_class": obj("networking.k8s.io/v1/IngressClass nsaaaa-i", "spec: {controller: a.example/b}"),
    "ingress_class_parameters": obj(
        "networking.k8s.io/v1/IngressClass nsaaaa-p",
        "spec: {controller: a.example/b, parameters: {apiGroup: a.example, kind: K, name: n}}",
    ),
    "network_policy": obj(
        "networking.k8s.io/v1/NetworkPolicy n", "spec: {podSelector: {matchLabels: {a: b}}}"
    ),
    "network_policy_empty": obj("networking.k8s.io/v1/NetworkPolicy n", "spec: {}"),
    "network_policy_full": obj(
        "networking.k8s.io/v1/NetworkPolicy n",
        "spec: {podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {a: b}}}, {namespaceSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8, except: "
        "[10.1.0.0/16]}}], ports: [{port: 80}, {port: web, protocol: UDP}, {port: 1000, endPort: 2000}]}], egress: [{}]}",
    ),
    "autoscaler": obj(
        "autoscaling/v2/HorizontalPodAutoscaler h",
        "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 5}",
    ),
    "autoscaler_full": obj(
        "autoscaling/v2/HorizontalPodAutoscaler h",
        "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 5, metrics: [{type: Resource, resource: {name: "
        "cpu, target: {type: Utilization, averageUtilization: 80}}}, {type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: 1000m}}}, "
        "{type: External, external: {metric: {name: q, selector: {matchLabels: {a: b}}}, target: {type: Value, value: '2000'}}}, {type: Object, object: "
        "{describedObject: {kind: Service, name: s, apiVersion: v1}, metric: {name: r}, target: {type: Value, value: 10k}}}, {type: ContainerResource, "
        "containerResource: {name: memory, container: c, target: {type: AverageValue, averageValue: 1Gi}}}], behavior: {scaleDown: {stabilizationWindowSeconds: 60, policies: [{type: Percent, value: 10, "
        "periodSeconds: 60}]}}}",
    ),
    "autoscaler_v1": obj(
        "autoscaling/v1/HorizontalPodAutoscaler h",
        "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 5, targetCPUUtilizationPercentage: 50}",
    ),
    "autoscaler_v1_plain": obj(
        "autoscaling/v1/HorizontalPodAutoscaler h",
        "spec: {scaleTargetRef: {kind: Deployment, name: web}, maxReplicas: 5}",
    ),
    "budget": obj(
        "policy/v1/PodDisruptionBudget p", "spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}"
    ),
    "budget_percent": obj(
        "policy/v1/PodDisruptionBudget p",
        "spec: {maxUnavailable: 30%, unhealthyPodEvictionPolicy: AlwaysAllow, selector: {}}",
    ),
    "role": obj(
        "rbac.authorization.k8s.io/v1/Role r", "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]"
    ),
    "role_empty": obj("rbac.authorization.k8s.io/v1/Role r"),
    "role_binding": obj(
        "rbac.authorization.k8s.io/v1/RoleBinding r",
        "{roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: u}, {kind: Group, name: g}, {kind: ServiceAccount, name: s, namespace: d}]}",
    ),
    "cluster_role": obj(
        "rbac.authorization.k8s.io/v1/ClusterRole nsaaaa-r",
        "rules: [{nonResourceURLs: [/metrics], verbs: [get]}, {apiGroups: ['*'], resources: ['*'], verbs: ['*']}]",
    ),
    "cluster_role_binding": obj(
        "rbac.authorization.k8s.io/v1/ClusterRoleBinding nsaaaa-b",
        "{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: s, namespace: d}]}",
    ),
    "priority_class": obj(
        "scheduling.k8s.io/v1/PriorityClass nsaaaa-p", "{value: 10, description: d, preemptionPolicy: Never}"
    ),
    "storage_class": obj("storage.k8s.io/v1/StorageClass nsaaaa-s", "provisioner: a.example"),
    "storage_class_full": obj(
        "storage.k8s.io/v1/StorageClass nsaaaa-f",
        "{provisioner: a.example, parameters: {a: b}, reclaimPolicy: Retain, allowVolumeExpansion: true, mountOptions: [ro], volumeBindingMode: "
        "WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]}",
    ),
    "csi_driver": obj("storage.k8s.io/v1/CSIDriver nsaaaa.example", "spec: {}"),
    "volume_attachment": obj(
        "storage.k8s.io/v1/VolumeAttachment nsaaaa-a",
        "spec: {attacher: a.example, nodeName: n, source: {persistentVolumeName: v}}",
    ),
    "lease": obj(
        "coordination.k8s.io/v1/Lease l",
        "spec: {holderIdentity: h, leaseDurationSeconds: 10, renewTime: '2020-01-01T00:00:00.000000Z', leaseTransitions: 1}",
    ),
    "runtime_class": obj(
        "node.k8s.io/v1/RuntimeClass nsaaaa-r", "{handler: runc, overhead: {podFixed: {cpu: 250m}}}"
    ),
    "validating_webhook": obj(
        "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration nsaaaa-v",
        "webhooks: [{name: a.b.example, clientConfig: {url: 'https://127.0.0.1:1/x'}, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore, rules: [{apiGroups: "
        "[none.example], apiVersions: [v1], operations: [CREATE], resources: [things]}]}]",
    ),
    "mutating_webhook": obj(
        "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration nsaaaa-m",
        "webhooks: [{name: a.b.example, clientConfig: {url: 'https://127.0.0.1:1/x'}, sideEffects: NoneOnDryRun, admissionReviewVersions: [v1], rules: [{apiGroups: "
        "[none.example], apiVersions: [v1], operations: ['*'], resources: ['things/*'], scope: Namespaced}]}]",
    ),
    "admission_policy": obj(
        "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy nsaaaa-p",
        "spec: {matchConstraints: {resourceRules: [{apiGroups: [none.example], apiVersions: [v1], operations: [CREATE], resources: [things]}]}, validations: "
        "[{expression: 'true'}]}",
    ),
    "admission_binding": obj(
        "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding nsaaaa-b",
        "spec: {policyName: nothing, validationActions: [Deny]}",
    ),
    "event": obj(
        "v1/Event e",
        "{involvedObject: {kind: Pod, name: p, namespace: nsaaaa}, reason: R, message: m, type: Normal, source: {component: c}, count: 1}",
    ),
    "node": obj("v1/Node nsaaaa-n", "spec: {podCIDR: 10.1.0.0/24, taints: [{key: a, effect: NoSchedule}]}"),
    "namespace": obj("v1/Namespace nsaaaa-x", "metadata: {labels: {a: b}}"),
    "certificate_request": obj(
        "certificates.k8s.io/v1/CertificateSigningRequest nsaaaa-c",
        "spec: {request: bm90IG9uZQ==, signerName: a.example/b, usages: [client auth]}",
    ),
    "api_service": obj(
        "apiregistration.k8s.io/v1/APIService v1.nsaaaa.example",
        "spec: {group: nsaaaa.example, version: v1, groupPriorityMinimum: 100, versionPriority: 10}",
    ),
    "device_class": obj(
        "resource.k8s.io/v1/DeviceClass nsaaaa-d", "spec: {selectors: [{cel: {expression: 'true'}}]}"
    ),
    "resource_claim": obj(
        "resource.k8s.io/v1/ResourceClaim c",
        "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: d}}]}}",
    ),
    "flow_schema": obj(
        "flowcontrol.apiserver.k8s.io/v1/FlowSchema nsaaaa-f",
        "spec: {priorityLevelConfiguration: {name: exempt}, matchingPrecedence: 9000, rules: [{subjects: [{kind: User, user: {name: u}}], nonResourceRules: "
        "[{nonResourceURLs: [/x], verbs: [get]}]}]}",
    ),
}

CASES: tuple[Case, ...] = (
    *(
        case(
            name,
            create(body),
            get(body),
            put(body),
            edit(body, "metadata: {labels: {x: y}}"),
            patch("merge", body, "metadata: {annotations: {k: v}}", manager="other"),
            create(body),
        )
        for name, body in _OBJECTS.items()
    ),
    *(
        case(f"{name}_unchanged", create(body), patch("merge", body, "{}"), patch("merge", body, "{}"))
        for name, body in _OBJECTS.items()
    ),
)
