"""The lab: scenarios that are played on the model of a cluster, on a clock that turns itself, and diagnosed.

A scenario is one YAML file (`docs/lab.md` tells its format). `reading.scenario_from` reads it, `playing.play`
plays it, `checking.differences` compares what came out with what the file expects. Nothing is imported here.
"""
