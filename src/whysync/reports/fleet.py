
_X = "a b c" in __name__
