"""Medians and spreads of what the rounds gave."""

import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    median: float
    low: float
    high: float


def spread(values):
    values = [value for value in values if value is not None]
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def of(rounds, metric):
    """The spread of a metric over the rounds in which it was measured, or None."""
    return spread([figures.get(metric) for figures in rounds or [] if figures])


def per_round(rounds, metric):
    return [figures.get(metric) if figures else None for figures in rounds or []]


def ratio(ours, theirs):
    """Round by round: both were measured within seconds of each other, whatever the machine did then."""
    pairs = [a / b for a, b in zip(ours, theirs) if a is not None and b]
    return spread(pairs)


def least(*lists):
    """Round by round, the least of those that were measured."""
    rounds = []
    for values in zip(*[values for values in lists if values]):
        there = [value for value in values if value is not None]
        rounds.append(min(there) if there else None)
    return rounds
