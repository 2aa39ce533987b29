"""The rule catalogue: pure functions of linked facts."""
