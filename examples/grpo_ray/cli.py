"""The command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from examples.grpo_ray.config import RunConfig, SettingError
from examples.grpo_ray.run import run


def parse(arguments: Sequence[str] | None = None) -> RunConfig:
    """Read the settings from the command line."""
    defaults = RunConfig("grpo")
    parser = argparse.ArgumentParser(
        prog="python -m examples.grpo_ray",
        description="Train a policy that deciphers letters, with telemetry. Needs two CPU cores.",
    )
    parser.add_argument("--steps", type=_positive, default=defaults.steps, help="updates")
    parser.add_argument(
        "--sync", action="store_true", help="generate before each update, not beside it"
    )
    parser.add_argument("--algorithm", choices=("grpo", "ppo"), default="grpo")
    parser.add_argument(
        "--span-groups", default=defaults.span_groups, help="presets and groups, or all"
    )
    parser.add_argument("--exporter", choices=("console", "file", "otlp"), default="file")
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument(
        "--prompts", type=_positive, default=defaults.prompts, help="prompts of one step"
    )
    parser.add_argument(
        "--out", type=Path, default=defaults.out, help="folder for all that is written"
    )
    given = parser.parse_args(arguments)
    return RunConfig(
        algorithm=given.algorithm,
        steps=given.steps,
        is_async=not given.sync,
        seed=given.seed,
        out=given.out.absolute(),
        exporter=given.exporter,
        span_groups=given.span_groups,
        prompts=given.prompts,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = parse(arguments)
    console = Console()
    try:
        run(config, console)
    except (SettingError, ConnectionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if config.telemetry_folder.exists():
        console.print(f"telemetry: {config.telemetry_folder}", soft_wrap=True, highlight=False)
    return 0


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number
