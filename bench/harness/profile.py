"""How long and how often: the full measurement and the quick look."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    name: str
    rounds: int  # of what the table of targets shows
    side_rounds: int  # of everything else
    key_ms: int  # one measurement of what the table of targets shows
    side_ms: int
    warmup_ms: int
    stream_ms: int
    idle_rounds: int
    idle_seconds: float  # of doing nothing, for the CPU it costs
    get_connections: tuple
    get_bytes: tuple
    bulk_bytes: int
    instruction_requests: int
    side_peers: tuple = ()  # who stands beside us where it is not about the targets; empty: everybody


FULL = Profile("full", rounds=5, side_rounds=2, key_ms=1200, side_ms=600, warmup_ms=200, stream_ms=1500,
               idle_rounds=3, idle_seconds=2, get_connections=(8, 64, 512), get_bytes=(90, 1024, 16384, 1048576),
               bulk_bytes=1_000_000_000, instruction_requests=3000)
QUICK = Profile("quick", rounds=2, side_rounds=1, key_ms=500, side_ms=400, warmup_ms=100, stream_ms=800,
                idle_rounds=1, idle_seconds=1, get_connections=(64,), get_bytes=(90, 1048576),
                bulk_bytes=200_000_000, instruction_requests=1000, side_peers=("nginx", "HAProxy"))
