"""How healthy is this object: the judgement of Argo CD, as pure functions over raw objects.

`assess.health_of` judges one object, `application.health_from` an Application. Nothing is imported here, so
that the shipped checks can be loaded without the rest.
"""
