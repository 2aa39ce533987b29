"""The plumbing under :mod:`rl_telemetry.setup`: resource, exporters, providers, shutdown.

Data flows one way: configuration → resource and exporters → pipelines → handle.
"""
