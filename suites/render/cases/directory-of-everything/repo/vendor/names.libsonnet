{ name(app, i):: "%s-%d" % [app, i] }
