"""The cases: each is a function from a Run to a list of Results. What one measures stands above it."""

from dataclasses import dataclass, field

from ..field import Field
from ..profile import Profile


@dataclass
class Run:
    """What every case needs."""
    field: Field
    profile: Profile
    rates: dict = field(default_factory=dict)  # found by one case and used by another

    def http_peers(self, *more):
        """Everybody who speaks HTTP, and `more`."""
        return [name for name, peer in self.field.peers.items()
                if peer.kind not in ("floor", "way")] + list(more)

    def side_peers(self, *more):
        """The same, but few of them in a quick look."""
        few = self.profile.side_peers
        return [name for name in self.http_peers(*more)
                if not few or name in few or self.field.peers.get(name) and self.field.peers[name].kind not in ("peer", "way")]


@dataclass
class Result:
    """One table: {peer: [figures of each round]} under one set of circumstances."""
    case: str
    title: str
    rows: dict
    variant: dict = field(default_factory=dict)
    log: bool = False

    def as_json(self):
        return {"case": self.case, "title": self.title, "variant": self.variant, "log": self.log, "rows": self.rows}
