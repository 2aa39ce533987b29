"""Fixes: from what a finding offers to edits of texts, and from edits to files.

Requests (:mod:`rltel_lint.changes`) become edits by libcst in Python files and by lines in
documents; edits that do not clash are made together, one round after the other, and a round
that leaves a finding or adds one is taken back.
"""
