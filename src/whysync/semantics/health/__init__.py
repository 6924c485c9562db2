"""How healthy is this object: the judgement of Argo CD, as pure functions over raw objects."""
