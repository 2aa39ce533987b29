"""``python -m examples.grpo_ray``."""

from examples.grpo_ray.cli import main

raise SystemExit(main())
