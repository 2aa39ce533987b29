"""Findings out: text for people, JSON for machines."""
