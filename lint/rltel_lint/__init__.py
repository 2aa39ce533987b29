"""A drift linter for OpenTelemetry instrumentation: code against documents and itself."""

__version__ = "0.1.0"
