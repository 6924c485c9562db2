local lib = import "names.libsonnet";
function(count) [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: lib.name(std.extVar("app"), i)}} for i in std.range(1, count)]
