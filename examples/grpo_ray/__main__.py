"""``python -m examples.grpo_ray``."""

try:
    from examples.grpo_ray.cli import main
except ModuleNotFoundError as error:
    raise SystemExit(f"error: {error}; the example needs: pip install -e '.[examples]'") from None

raise SystemExit(main())
