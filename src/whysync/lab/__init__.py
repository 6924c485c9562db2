"""The lab: scenarios that run on the model of a cluster with simulated time and are then diagnosed.

A scenario is one YAML file (`docs/lab.md` describes the format). `parse.scenario_from` reads it,
`player.play` runs it, `expectations.differences` compares the result with the expectations. Nothing is
imported here.
"""
