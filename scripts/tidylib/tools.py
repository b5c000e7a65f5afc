"""Checks that ask clang: headers compile alone, and the format is the formatter's."""

import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from .standard import COMMON
from .tree import Finding

COMPILER = "clang++-19"
FORMATTER = "clang-format-19"


def check_headers(tree):
    """Compiles every header alone. What compiled once is remembered under build/ by the hash of all it includes.

    What most of them want of the standard library is parsed once for all; standard.check asks for its includes.
    """
    headers = [file for file in tree.code if file.suffix == ".h"]
    flags = [*_flags(tree), *_parsed_library(tree)]
    memory = tree.root / "build" / "tidy-headers.json"
    try:
        known = set(json.loads(memory.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        known = set()
    keys = {file.path: _key(tree, file, flags) for file in headers}
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        news = [file for file in headers if keys[file.path] not in known]
        results = dict(zip((file.path for file in news), pool.map(lambda file: _compile(tree, file, flags), news)))
    good = [keys[file.path] for file in headers if not results.get(file.path)]
    memory.parent.mkdir(exist_ok=True)
    memory.write_text(json.dumps(sorted(good)), encoding="utf-8")
    return [finding for found in results.values() for finding in found]


def _flags(tree):
    cmake = (tree.root / "CMakeLists.txt").read_text(encoding="utf-8")
    match = re.search(r"add_compile_definitions\(([^)]*)\)", cmake)
    definitions = [f"-D{name}" for name in (match.group(1).split() if match else [])]
    return ["-std=c++23", "-Wall", "-Wextra", "-Werror", f"-I{tree.root / 'src'}", f"-I{tree.root}",
            *definitions]


def _parsed_library(tree):
    parsed = tree.root / "build" / "tidy-std.pch"
    parsed.parent.mkdir(exist_ok=True)
    source = "".join(f"#include <{header}>\n" for header in COMMON)
    subprocess.run([COMPILER, *_flags(tree), "-x", "c++-header", "-", "-o", parsed], input=source, text=True, check=True)
    return ["-include-pch", str(parsed)]


def _key(tree, file, flags):
    digest = hashlib.sha256(" ".join(flags).encode())
    for path in sorted(tree.reachable(file)):
        digest.update(path.encode() + b"\0" + tree.by_path[path].text.encode() + b"\0")
    return digest.hexdigest()


def _compile(tree, file, flags):
    source = f'#include "{file.full}"\n'
    done = subprocess.run([COMPILER, *flags, "-fsyntax-only", "-x", "c++", "-"], input=source, capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        return []
    first = next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr[:200])
    match = re.match(r".*?:(\d+):\d+: (?:fatal )?error: (.*)", first)
    line, text = (int(match.group(1)), match.group(2)) if match else (1, first)
    return [Finding(file.path, line, f"does not compile alone: {text}")]


def check_format(tree):
    files = [file.path for file in tree.code]
    if not files:
        return []
    done = subprocess.run([FORMATTER, "--dry-run", *files], cwd=tree.root, capture_output=True, text=True, check=False)
    places = {}
    for match in re.finditer(r"^(.+?):(\d+):\d+: (?:warning|error): (.*)$", done.stderr, re.MULTILINE):
        places.setdefault(match.group(1), []).append(int(match.group(2)))
    return [Finding(path, lines[0], f"not as {FORMATTER} writes it, in {len(lines)} place(s): ./dev fmt")
            for path, lines in places.items()]
