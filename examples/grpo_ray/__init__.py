"""A small reinforcement-learning run on Ray, instrumented with ``rl_telemetry`` alone.

``python -m examples.grpo_ray --steps 20`` trains a policy that deciphers letters, by
group-relative policy optimisation. What it emits is described in ``docs/observability``.
"""
