"""Facts of many files at once: in processes of this machine, or on a Ray cluster."""
