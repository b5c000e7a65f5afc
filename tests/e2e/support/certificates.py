"""Certificates of a case, made by the openssl command. They are good for localhost and 127.0.0.1 unless said otherwise."""

import asyncio
import os
import shutil

from .message import check

LOCAL = ("DNS:localhost", "IP:127.0.0.1")
KEYS = {"ec": ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"), "rsa": ("-newkey", "rsa:2048")}
AUTHORITY = ("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")


async def openssl(*words):
    process = await asyncio.create_subprocess_exec(
        "openssl", *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT)
    out, _ = await process.communicate()
    check(process.returncode == 0, f"openssl {words}: {out.decode('utf-8', 'replace')[-300:]}")


class Certificate:
    """Paths of the files, and how a file of settings names them."""

    def __init__(self, directory, name):
        self.name = name
        self.certificate, self.key = (os.path.join(directory, name + end) for end in (".pem", ".key"))

    def __repr__(self):
        return f"<certificate {self.certificate}>"

    @property
    def paths(self):
        return {"certificate": self.certificate, "key": self.key}

    def read(self):
        """The bytes of both files."""
        parts = []
        for path in (self.certificate, self.key):
            with open(path, "rb") as file:
                parts.append(file.read())
        return parts

    def copy(self, directory, name):
        other = Certificate(directory, name)
        shutil.copyfile(self.certificate, other.certificate)
        shutil.copyfile(self.key, other.key)
        return other

    def with_chain(self, *issuers):
        """Their certificates behind this one, in its file."""
        with open(self.certificate, "ab") as file:
            for issuer in issuers:
                file.write(issuer.read()[0])
        return self


class Authority(Certificate):
    """Signs others; `certificate` is what to trust."""

    async def issue(self, name, names=LOCAL, *, days=30, kind="ec", subject=None, extra=(), into=Certificate):
        """A certificate for `names`, whose subject is CN=`name` unless given. Negative days: it has expired."""
        made = into(os.path.dirname(self.certificate), name)
        request = made.certificate + ".request"
        alternatives = ("-addext", "subjectAltName=" + ",".join(names)) if names else ()
        await openssl("req", "-new", *KEYS[kind], "-nodes", "-keyout", made.key, "-out", request, "-subj",
                      subject or f"/CN={name}", *alternatives, *extra)
        await openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-days", str(days),
                      "-copy_extensions", "copyall", "-out", made.certificate)
        return made

    async def intermediate(self, name):
        return await self.issue(name, (), extra=AUTHORITY, into=Authority)


async def authority(directory, name="authority"):
    made = Authority(directory, name)
    await openssl("req", "-x509", *KEYS["ec"], "-nodes", "-keyout", made.key, "-out", made.certificate, "-days", "30",
                  "-subj", f"/O=End to end/CN={name}", *AUTHORITY)
    return made


async def self_signed(directory, name, names=LOCAL):
    made = Certificate(directory, name)
    await openssl("req", "-x509", *KEYS["ec"], "-nodes", "-keyout", made.key, "-out", made.certificate, "-days", "30",
                  "-subj", f"/CN={name}", "-addext", "subjectAltName=" + ",".join(names))
    return made
