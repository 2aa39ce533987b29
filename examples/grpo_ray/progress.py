"""What the terminal shows while the run goes on."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class StepProgress:
    """A progress bar on a terminal, a line for each step elsewhere.

    Args:
        steps: Steps of the run.
        console: Where to show it.
    """

    def __init__(self, steps: int, console: Console) -> None:
        self._steps = steps
        self._console = console
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("reward {task.fields[reward]:.3f}"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=steps, reward=0.0)

    def __enter__(self) -> StepProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def advance(self, step: int, metrics: dict[str, float]) -> None:
        """Show that a step is done.

        Args:
            step: Number of the step, from 0.
            metrics: Its metrics.
        """
        self._bar.update(self._task, advance=1, reward=metrics["reward"])
        if not self._console.is_terminal or (step + 1) % 5 == 0:
            self._console.print(
                f"step {step + 1:3d}/{self._steps}  reward {metrics['reward']:.3f}  "
                f"entropy {metrics['approx_entropy']:.3f}  kl {metrics['kl_penalty']:.3f}",
                highlight=False,
            )
