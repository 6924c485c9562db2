"""A sync's ground on any cluster: what kubectl and Argo CD's own clients ask of it, and how they tell it.

`ground.ClusterGround` is the way in. Nothing is imported here.
"""
