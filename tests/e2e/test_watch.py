"""`serve --watch`: the file is read again however it was changed, as with SIGHUP; a faulty one changes nothing."""

import asyncio
import json
import os

from support import case, check, configuration, request_bytes, response_bytes

from test_reload import ENDS, events

GET = request_bytes(target="/now")
SETTLED = 1.5  # more than the time in which a change is found and has settled


def write(path, config):
    with open(path, "w", encoding="utf-8") as file:
        file.write(config if isinstance(config, str) else json.dumps(config))


def replace(path, config):
    """As editors do."""
    write(path + ".swp", config)
    os.rename(path + ".swp", path)


async def watching(t, path, settings):
    write(path, settings)
    return await started(t, path)


async def started(t, path):
    gateway = await t.run(None, arguments=["serve", "-c", path, "--watch"])
    check(await gateway.until(lambda: events(gateway, "watching", "watching_by_looks")), f"not watched: {gateway.log}")
    return gateway


async def read_again(gateway, change):
    """The line that tells how the reload after this change went."""
    before = len(events(gateway, *ENDS))
    change()
    check(await gateway.until(lambda: len(events(gateway, *ENDS)) > before), f"not read again: {gateway.log[-3:]}")
    return events(gateway, *ENDS)[before]


async def body(t, gateway):
    return (await t.ask(gateway, GET)).body


@case(threads=True)
async def a_file_that_changes_is_read_again_however_that_came_about(t):
    first, second = await t.answering(), await t.answering(lambda _: response_bytes(b"second"))
    path = os.path.join(t.directory, "watched.json")
    to_first, to_second = configuration(first), configuration(second)
    gateway = await watching(t, path, to_first)
    check(await body(t, gateway) == b"ok", "not the first upstream")
    for change, config, expected in ((write, to_second, b"second"), (replace, to_first, b"ok"), (replace, to_second, b"second")):
        line = await read_again(gateway, lambda: change(path, config))  # noqa: B023
        check(line["event"] == "reloaded", f"{line}")
        check(await body(t, gateway) == expected, f"{change.__name__}: not served by the new file")
    check([line["detail"] for line in events(gateway, "file_changed")] == [f"{path} is read again"] * 3, "not told")


@case
async def a_faulty_file_changes_nothing_and_the_next_good_one_does(t):
    first, second = await t.answering(), await t.answering(lambda _: response_bytes(b"second"))
    path = os.path.join(t.directory, "watched.json")
    gateway = await watching(t, path, configuration(first))
    line = await read_again(gateway, lambda: write(path, '{ "listen": 5 }'))
    check(line["event"] == "reload_failed", f"{line}")
    faults = [fault["detail"] for fault in events(gateway, "reload_fault")]
    check(any(fault.startswith(f"{path}:1:13: listen is 5") for fault in faults), f"{faults}")
    check(await body(t, gateway) == b"ok", "a faulty file was taken")
    line = await read_again(gateway, lambda: os.remove(path))
    check(line["event"] == "reload_failed", f"{line}")
    line = await read_again(gateway, lambda: write(path, configuration(second)))
    check(line["event"] == "reloaded" and await body(t, gateway) == b"second", f"{line}")


@case
async def links_that_are_swapped_as_kubernetes_does_are_seen(t):
    first, second = await t.answering(), await t.answering(lambda _: response_bytes(b"second"))
    root = os.path.join(t.directory, "mounted")
    for name, upstream in (("..1", first), ("..2", second)):
        os.makedirs(os.path.join(root, name))
        write(os.path.join(root, name, "hushgate.json"), configuration(upstream))
    os.symlink("..1", os.path.join(root, "..data"))
    path = os.path.join(root, "hushgate.json")
    os.symlink("..data/hushgate.json", path)
    gateway = await started(t, path)

    def swap():
        os.symlink("..2", os.path.join(root, "..data_tmp"))
        os.rename(os.path.join(root, "..data_tmp"), os.path.join(root, "..data"))

    line = await read_again(gateway, swap)
    check(line["event"] == "reloaded" and await body(t, gateway) == b"second", f"{line}")


@case
async def many_writes_are_one_reload_and_neighbours_are_none(t):
    upstream = await t.answering()
    path = os.path.join(t.directory, "watched.json")
    gateway = await watching(t, path, configuration(upstream))
    for _ in range(20):
        write(os.path.join(t.directory, "neighbour"), "x")
    await asyncio.sleep(SETTLED)
    check(not events(gateway, "file_changed"), "a neighbour's change was taken for one")

    def change():
        for n in range(50):
            write(path, configuration(upstream, limits={"graceMs": 1000 + n}))

    line = await read_again(gateway, change)
    check(line["event"] == "reloaded" and "-> 1049" in line["changed"], f"{line}")
    await asyncio.sleep(SETTLED)
    check(len(events(gateway, "file_changed")) == 1, f"{len(events(gateway, 'file_changed'))} reloads for one change")


@case
async def without_being_asked_to_it_does_not_watch(t):
    upstream = await t.answering()
    gateway = await t.gateway(upstream)
    write(gateway.path, "{")
    await asyncio.sleep(SETTLED)
    check(not events(gateway, "file_changed", "watching", *ENDS), f"{gateway.log}")
