"""The files of a repository, as rules on files read them: `Tree`, its objects, and their schemas."""
