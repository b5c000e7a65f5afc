"""Floods of HTTP/2 frames (h2/floods.py): the connection ends, what it cost is bounded, others are served meanwhile."""

from h2.floods import FLOODS, TAKES, measure
from support import case, check

MIB = 2**20
SANITIZER_FACTOR = 4  # of memory: redzones and quarantine


def flood_case(flood):
    async def play(t):
        figures = await measure(t, flood)
        check(not flood.ends or (figures.ended and figures.seconds < flood.within), f"not ended: {figures.row()}")
        check(figures.growth < flood.growth_mib * MIB * SANITIZER_FACTOR, f"memory: {figures.row()}")
        check(flood.requests is None or figures.requests <= flood.requests, f"reached the upstream: {figures.row()}")
        check(figures.served >= 1 and figures.worst < TAKES, f"the neighbour waited: {figures.row()}")

    words = "".join(letter if letter.isalnum() else "_" for letter in flood.name.lower())
    play.__name__, play.__module__ = "_".join(word for word in words.split("_") if word), __name__
    case(play, seconds=90)


for each in FLOODS:
    flood_case(each)
