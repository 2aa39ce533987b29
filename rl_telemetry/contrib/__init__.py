"""Optional integrations; none is imported unless used."""
