"""TLS to clients: what a GET costs inside it, and what a handshake costs, full and resumed."""

import subprocess

from ..processes import Failed
from . import Result
from .http import load

_PEERS = ("nginx", "HAProxy")


def tls(run):
    """All on one core: requests on kept connections, then a connection for each."""
    field, profile, results = run.field, run.profile, []
    pem = certificate(field.directory)
    names = [name for name in field.peers if field.peers[name].kind == "ours" or name in _PEERS]

    def measure(*arguments):
        def of(gateway):
            figures = load(field, gateway, *arguments, "--warmup-ms", 300, "--seconds-ms", profile.key_ms,
                           measured_ms=profile.key_ms, program="tls_load")
            if "resumed" in arguments and figures["resumed"] < figures["answered"] - 1:
                field.note(f"{gateway.name} resumed {figures['resumed']} of {figures['answered']} sessions")
            return figures
        return of

    with field.upstream() as upstream, field.gateways(names, upstream=upstream, tls=pem, ready_path=None) as gateways:
        rows = field.alternate(gateways, profile.rounds, measure())
        results.append(Result("tls", "64 connections, answers of 90 bytes", rows, {"way": "get"}))
        for way in ("full", "resumed"):
            rows = field.alternate(gateways, profile.rounds, measure("--fresh", way))
            results.append(Result("tls", f"a connection for each GET, {way} handshakes", rows, {"way": way}))
    return results


def certificate(directory):
    """A P-256 certificate for localhost with its key, in one file."""
    directory.mkdir(parents=True, exist_ok=True)
    key, pem = directory / "key.pem", directory / "localhost.pem"
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                           "-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                           "-keyout", key, "-out", pem], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Failed(f"openssl made no certificate: {made.stderr.strip().splitlines()[-1:]}")
    pem.write_text(pem.read_text() + key.read_text())
    return pem
