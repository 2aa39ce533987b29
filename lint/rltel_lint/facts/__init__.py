"""One file in, facts out; nothing here looks at a second file."""
