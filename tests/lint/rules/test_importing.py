"""RLT809 and RLT810: near misses and their faulty twins."""

from __future__ import annotations

import pytest

from rltel_lint.rules.base import Rule
from rltel_lint.rules.importing import ReadAtImport, StartedAtImport
from tests.lint.support import lint, marked, project, reported

_STARTS = {
    "an imported module sets the provider": """
        --- tracing.py
        from opentelemetry import trace
        trace.set_tracer_provider(make())  # <- RLT809
        --- app.py
        from tracing import trace
        """,
    "a script that nobody imports": """
        --- serve.py
        from opentelemetry import trace
        trace.set_tracer_provider(make())
        --- app.py
        print("app")
        """,
    "imported only where it is wanted": """
        --- tracing.py
        from opentelemetry import trace
        trace.set_tracer_provider(make())
        --- app.py
        def main():
            import tracing
        """,
    "imported for types only": """
        --- tracing.py
        from opentelemetry import trace
        trace.set_tracer_provider(make())
        --- app.py
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from tracing import trace
        """,
    "under the guard of a script": """
        --- serve.py
        from opentelemetry import trace
        if __name__ == "__main__":
            trace.set_tracer_provider(make())
        --- app.py
        import serve
        """,
    "beside the guard of a script": """
        --- serve.py
        from opentelemetry import trace
        if __name__ == "__main__":
            print("serving")
        else:
            trace.set_tracer_provider(make())  # <- RLT809
        --- app.py
        import serve
        """,
    "in a function": """
        --- tracing.py
        from opentelemetry import trace
        def start():
            trace.set_tracer_provider(make())
        --- app.py
        from tracing import start
        """,
    "in a lambda, for later": """
        --- tracing.py
        from opentelemetry import trace
        start = lambda: trace.set_tracer_provider(make())
        --- app.py
        from tracing import start
        """,
    "handed to something that calls it later": """
        --- tracing.py
        from opentelemetry.trace import set_tracer_provider
        on_start(set_tracer_provider)
        --- app.py
        import tracing
        """,
    "in a package": """
        --- lib/__init__.py
        from opentelemetry.metrics import set_meter_provider
        set_meter_provider(make())  # <- RLT809
        """,
    "in a program's own module": """
        --- lib/__init__.py
        --- lib/__main__.py
        from opentelemetry.metrics import set_meter_provider
        set_meter_provider(make())
        """,
    "in a try": """
        --- lib/__init__.py
        try:
            from opentelemetry import trace
            trace.set_tracer_provider(make())  # <- RLT809
        except ImportError:
            pass
        """,
    "in a class body": """
        --- lib/__init__.py
        from opentelemetry import trace
        class Telemetry:
            ready = trace.set_tracer_provider(make())  # <- RLT809
        """,
    "in a method": """
        --- lib/__init__.py
        from opentelemetry import trace
        class Telemetry:
            def start(self):
                trace.set_tracer_provider(make())
        """,
    "a provider of its own, set nowhere": """
        --- lib/__init__.py
        from opentelemetry.sdk.trace import TracerProvider
        _provider = TracerProvider()
        """,
    "a tracer only": """
        --- lib/__init__.py
        from opentelemetry import trace
        tracer = trace.get_tracer("lib")
        """,
    "the driver's initialiser": """
        --- lib/__init__.py
        from rl_telemetry.setup import init_telemetry_driver
        handle = init_telemetry_driver({}, "grpo")  # <- RLT809
        """,
    "the worker's initialiser": """
        --- workers.py
        from rl_telemetry.setup import init_telemetry_worker
        init_telemetry_worker()  # <- RLT809
        --- run.py
        import workers
        """,
    "a function of the project": """
        --- lib/__init__.py
        from lib.tracing import start
        start()  # <- RLT809
        --- lib/tracing.py
        from rl_telemetry.setup import init_telemetry_driver
        def start():
            _configure()
        def _configure():
            init_telemetry_driver({}, "grpo")
        """,
    "a function of the project that starts nothing": """
        --- lib/__init__.py
        from lib.tracing import register
        register()
        --- lib/tracing.py
        from rl_telemetry.setup import init_telemetry_driver
        def start():
            init_telemetry_driver({}, "grpo")
        def register():
            HOOKS.append(start)
        """,
    "an application is made": """
        --- lib/__init__.py
        --- lib/app.py
        from lib.factory import create_app
        app = create_app()
        --- lib/factory.py
        from opentelemetry import trace
        def create_app():
            trace.set_tracer_provider(make())
            return App()
        --- lib/cli.py
        from lib.app import app
        """,
    "a module of the same name elsewhere": """
        --- tools/tracing.py
        from opentelemetry import trace
        trace.set_tracer_provider(make())
        --- app.py
        from ddtrace import tracing
        """,
    "imported as a dotted name": """
        --- lib/__init__.py
        --- lib/tracing.py
        from opentelemetry import trace
        trace.set_tracer_provider(make())  # <- RLT809
        --- app.py
        import os, lib.tracing
        """,
    "imported relatively": """
        --- lib/__init__.py
        --- lib/tracing.py
        from opentelemetry import trace
        trace.set_tracer_provider(make())  # <- RLT809
        --- lib/loop.py
        from . import tracing
        """,
}


@pytest.mark.parametrize("case", _STARTS)
def test_an_import_starts_no_telemetry(case: str) -> None:
    _check(_STARTS[case], StartedAtImport)


_READS = {
    "taken from a copy of the environment": """
        --- lib/__init__.py
        import os
        _ENV = dict(os.environ)  # <- RLT810
        def resource():
            return _ENV.get("OTEL_RESOURCE_ATTRIBUTES", "")
        """,
    "taken from a copy with the method": """
        --- lib/__init__.py
        from os import environ
        _ENV = environ.copy()  # <- RLT810
        def resource():
            return _ENV["OTEL_RESOURCE_ATTRIBUTES"]
        """,
    "taken from the live environment": """
        --- lib/__init__.py
        import os
        _ENV = os.environ
        def resource():
            return _ENV.get("OTEL_RESOURCE_ATTRIBUTES", "")
        """,
    "the copy is only put back": """
        --- lib/__init__.py
        import os
        _ENV = dict(os.environ)
        def restore():
            os.environ.clear()
            os.environ.update(_ENV)
        """,
    "something else is taken from the copy": """
        --- lib/__init__.py
        import os
        _ENV = dict(os.environ)
        def home():
            return _ENV.get("HOME", "")
        """,
    "the copy is of a script": """
        --- run.py
        import os
        _ENV = dict(os.environ)
        def resource():
            return _ENV.get("OTEL_RESOURCE_ATTRIBUTES", "")
        """,
    "filtered": """
        --- lib/__init__.py
        import os
        _ENV = {k: v for k, v in os.environ.items() if k.startswith("OTEL_")}  # <- RLT810
        def resource():
            return "OTEL_RESOURCE_ATTRIBUTES" in _ENV
        """,
    "the copy is used as it is made": """
        --- lib/__init__.py
        import os
        _ENV = {**os.environ}
        RESOURCE = _ENV.get("OTEL_RESOURCE_ATTRIBUTES", "")
        """,
    "set-up uses a constant": """
        --- lib/__init__.py
        import os
        from opentelemetry import trace
        _ENDPOINT = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")  # <- RLT810
        def start():
            if _ENDPOINT:
                trace.set_tracer_provider(make(_ENDPOINT))
        """,
    "what set-up calls uses a constant": """
        --- lib/__init__.py
        import os
        from opentelemetry import trace
        _ENDPOINT = os.getenv("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()  # <- RLT810
        def _exporter():
            return make(_ENDPOINT)
        def start():
            trace.set_tracer_provider(_exporter())
        """,
    "set-up reads it live": """
        --- lib/__init__.py
        import os
        from opentelemetry import trace
        _ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
        def start():
            if os.environ.get(_ENDPOINT):
                trace.set_tracer_provider(make())
        """,
    "a constant of the deployment, in a module of settings": """
        --- lib/__init__.py
        --- lib/settings.py
        import os
        ENDPOINT = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
        --- lib/tracing.py
        from opentelemetry import trace
        from lib.settings import ENDPOINT
        def start():
            trace.set_tracer_provider(make(ENDPOINT))
        """,
    "a flag that has nothing to do with set-up": """
        --- lib/__init__.py
        import os
        from opentelemetry import trace
        _VERBOSE = os.environ.get("RL_TELEMETRY_VERBOSE") == "1"
        def report():
            return 1 if _VERBOSE else 0
        def start():
            trace.set_tracer_provider(make())
        """,
    "set after the import": """
        --- lib/__init__.py
        import os
        _RANK = int(os.environ.get("RL_TELEMETRY_RANK", "0"))  # <- RLT810
        def rank():
            return _RANK
        --- launch.py
        import os
        import lib
        def main():
            os.environ["RL_TELEMETRY_RANK"] = "3"
        """,
    "set after the import, under a name": """
        --- lib/__init__.py
        import os
        from lib.names import RANK
        _RANK = os.environ[RANK]  # <- RLT810
        def rank():
            return _RANK
        def start(rank):
            os.environ.setdefault(RANK, rank)
        --- lib/names.py
        RANK = "RL_TELEMETRY_RANK"
        """,
    "set by a launcher that starts another process": """
        --- lib/__init__.py
        import os
        _RANK = int(os.environ.get("RL_TELEMETRY_RANK", "0"))
        def rank():
            return _RANK
        --- launch.py
        import os
        def main():
            os.environ["RL_TELEMETRY_RANK"] = "3"
            run("train.py")
        """,
    "set by a script before its imports": """
        --- lib/__init__.py
        import os
        _RANK = int(os.environ.get("RL_TELEMETRY_RANK", "0"))
        def rank():
            return _RANK
        --- launch.py
        import os
        os.environ.setdefault("RL_TELEMETRY_RANK", "3")
        import lib
        """,
    "set from what was read": """
        --- lib/__init__.py
        import os
        _NAME = os.environ.get("OTEL_SERVICE_NAME")
        def pin():
            os.environ["OTEL_SERVICE_NAME"] = _NAME or "app"
        """,
    "another variable is set": """
        --- lib/__init__.py
        import os
        _RANK = int(os.environ.get("RL_TELEMETRY_RANK", "0"))
        def rank():
            return _RANK
        def start():
            os.environ["RL_TELEMETRY_ENABLED"] = "1"
        """,
    "not a variable of telemetry": """
        --- lib/__init__.py
        import os
        _RANK = int(os.environ.get("RANK", "0"))
        def rank():
            return _RANK
        def start():
            os.environ["RANK"] = "1"
        """,
    "a default of set-up": """
        --- lib/__init__.py
        import os
        from opentelemetry import trace
        def start(endpoint=os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")):  # <- RLT810
            trace.set_tracer_provider(make(endpoint))
        """,
    "a default of set-up that is worked out inside": """
        --- lib/__init__.py
        import os
        from opentelemetry import trace
        def start(endpoint=None):
            endpoint = endpoint or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
            trace.set_tracer_provider(make(endpoint))
        """,
    "a field of a class, set after the import": """
        --- lib/__init__.py
        import os
        class Settings:
            service: str = os.environ.get("OTEL_SERVICE_NAME", "app")  # <- RLT810
            def pin(self):
                os.environ["OTEL_SERVICE_NAME"] = "other"
        """,
    "a field of a class that is made later": """
        --- lib/__init__.py
        import os
        class Settings:
            service: str = field(default_factory=lambda: os.environ.get("OTEL_SERVICE_NAME"))
            def pin(self):
                os.environ["OTEL_SERVICE_NAME"] = "other"
        """,
}


@pytest.mark.parametrize("case", _READS)
def test_a_variable_is_read_when_it_is_needed(case: str) -> None:
    _check(_READS[case], ReadAtImport)


def _check(text: str, rule: type[Rule]) -> None:
    files = project(text)
    assert files
    assert reported(lint(files, rule)) == marked(files)


def test_the_finding_shows_who_imports_the_module() -> None:
    (finding,) = lint(project(_STARTS["an imported module sets the provider"]), StartedAtImport)
    assert finding.message == (
        "set_tracer_provider() decides for the whole process as soon as tracing is imported; "
        "call it in a function that the program runs"
    )
    assert [str(near.place) for near in finding.related] == ["app.py:1"]


def test_the_finding_shows_what_comes_too_late() -> None:
    (finding,) = lint(project(_READS["set after the import"]), ReadAtImport)
    assert finding.message == (
        '"RL_TELEMETRY_RANK" is read when lib is imported, and kept in "_RANK", so what is set '
        "later is not seen; read it in the function that needs it"
    )
    assert [str(near.place) for near in finding.related] == ["launch.py:4"]
    assert finding.severity == "warning"
