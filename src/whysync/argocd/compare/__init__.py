"""The comparison of an Application: CompareAppState and the parts it is made of."""
