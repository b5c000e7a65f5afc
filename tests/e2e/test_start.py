"""Whatever keeps the gateway from starting is told with what to do about it, and ends it with exit code 1."""

import asyncio
import contextlib
import os
import resource
import shutil
import socket

from support import Skip, case, check, configuration

from test_command import written

UP = "http://127.0.0.1:9"
NOBODY = 65511  # nobody else runs as this user


async def refused(t, config, *, path=None, before=None, binary=None):
    """Standard error of a gateway that does not start."""
    process = await asyncio.create_subprocess_exec(
        binary or t.binary, "serve", "-c", path or written(t, config), stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, preexec_fn=before,
        env={**os.environ, "LSAN_OPTIONS": "detect_leaks=0"})  # it wants a thread of its own, and ptrace
    try:
        out, err = await asyncio.wait_for(process.communicate(), 30)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
        raise
    text = err.decode()
    check(process.returncode == 1 and not out, f"exit code {process.returncode}: {out} {text}")
    check(text.startswith("hushgate: ") and len(text.splitlines()) == 1, f"not one line: {text}")
    return text


def has(text, *words):
    for word in words:
        check(word in text, f"{word!r} is missing: {text}")


@case
async def a_port_that_is_taken_is_told_with_who_could_know_by_whom(t):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        has(await refused(t, configuration(UP, listen=["127.0.0.1:0", f"127.0.0.1:{port}"])),
            f"cannot listen on 127.0.0.1:{port} (listen[1]): Address already in use; another process listens there",
            f"sport = :{port}", "give listen[1] another port")
        has(await refused(t, configuration(UP, admin=f"127.0.0.1:{port}")), f"127.0.0.1:{port} (admin)", "give admin another")


@case
async def an_address_of_another_machine_is_told(t):
    has(await refused(t, configuration(UP, listen="192.0.2.1:8787")),
        "cannot listen on 192.0.2.1:8787 (listen[0]): Cannot assign requested address; this machine has no such address",
        '":8787" for all of them')


def drop_privileges():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def only_root():
    return os.geteuid() == 0


def for_everybody(t):
    """The program where everybody may run it."""
    os.chmod(t.directory, 0o755)
    return shutil.copy(t.binary, os.path.join(t.directory, "program"))


@case
async def a_port_that_wants_a_privilege_is_told(t):
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as file:
        if not only_root() or int(file.read()) <= 81:
            raise Skip("wants to give up root's rights, and a kernel that keeps low ports for those who have them")
    path = written(t, configuration(UP, listen="127.0.0.1:81"))
    os.chmod(path, 0o644)
    has(await refused(t, None, path=path, before=drop_privileges, binary=for_everybody(t)),
        "cannot listen on 127.0.0.1:81 (listen[0]): Permission denied; ports below 1024", "CAP_NET_BIND_SERVICE")


@case
async def a_file_that_cannot_be_read_is_told_with_the_reason(t):
    absent = os.path.join(t.directory, "absent.json")
    has(await refused(t, None, path=absent), f"{absent}: the file cannot be read: No such file or directory; give -c")
    has(await refused(t, None, path="absent.json"), f'-c is looked for from "{os.getcwd()[:50]}')
    has(await refused(t, None, path=t.directory), "Is a directory; give -c the path of a file in it")
    if only_root():
        path = written(t, configuration(UP))
        os.chmod(path, 0o600)
        has(await refused(t, None, path=path, before=drop_privileges, binary=for_everybody(t)),
            "Permission denied; user 65511 needs to read it")


@case
async def too_few_descriptors_are_told_with_the_limit_and_what_to_lower(t):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))

    has(await refused(t, configuration(UP, workers=50), before=few), "of 50: Too many open files",
        "this process may have 20 descriptors open (RLIMIT_NOFILE)", "LimitNOFILE=", "lower workers")
    has(await refused(t, configuration(UP, listen=["127.0.0.1:0"] * 40), before=few), "cannot listen on 127.0.0.1:0 (listen[",
        "Too many open files", "20 descriptors")


@case
async def too_few_threads_are_told(t):
    if not only_root():
        raise Skip("wants to become somebody who runs nothing else")
    for most in (1, 5):  # the log's own, a worker's
        def few():
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))  # noqa: B023
            drop_privileges()

        path = written(t, configuration(UP, workers=20))
        os.chmod(path, 0o644)
        has(await refused(t, None, path=path, before=few, binary=for_everybody(t)),
            "cannot start a thread: Resource temporarily unavailable",
            "TasksMax=", "lower workers")


@case
async def a_stop_ends_though_nobody_reads_standard_error(t):
    """A terminal under Ctrl-S, a pager that stands still."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    os.set_blocking(write, True)
    process = await asyncio.create_subprocess_exec(
        t.binary, "serve", "-c", written(t, configuration(UP)), stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=write)
    try:
        check(b"listening" in await asyncio.wait_for(process.stdout.readline(), 30), "it does not start")
        process.terminate()
        check(await asyncio.wait_for(process.wait(), 30) == 0, f"exit code {process.returncode}")
    finally:
        os.close(read)
        os.close(write)
        if process.returncode is None:
            process.kill()
            await process.wait()
