"""What ./dev bench runs. Read command.py first, then cases/; docs/benchmarks.md says what the figures mean."""
