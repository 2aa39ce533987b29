"""Facts linked into one project: names, values, helpers, actors, documents."""
