"""A drift linter for OpenTelemetry instrumentation: code against documents, and code against code."""

__version__ = "0.1.0"
