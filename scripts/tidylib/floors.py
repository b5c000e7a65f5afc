"""A folder of src/ includes itself and the floors that CMakeLists.txt names behind it."""

import re

from .tree import Finding


def allowed_floors(tree):
    """{floor: set of floors it may include}, read from the hushgate_floor lines, and findings about those."""
    allowed, findings = {}, []
    cmake = (tree.root / "CMakeLists.txt").read_text(encoding="utf-8")
    for match in re.finditer(r"^hushgate_floor\(([^)]*)\)", cmake, re.MULTILINE):
        name, *below = match.group(1).split()
        line = cmake.count("\n", 0, match.start()) + 1
        for floor in below:
            if floor not in allowed:
                findings.append(Finding("CMakeLists.txt", line,
                                        f"{name} stands on {floor}, which is not a floor below it"))
        allowed[name] = set(below) | {name}
    if "proxy" in allowed.get("admin", ()) or "admin" in allowed.get("proxy", ()):
        findings.append(Finding("CMakeLists.txt", 1, "proxy and admin stand side by side and never include each other"))
    return allowed, findings


def check(tree):
    allowed, findings = allowed_floors(tree)
    for file in tree.code:
        if file.path.startswith("src/"):
            findings += _check_file(file, allowed)
    return findings


def _check_file(file, allowed):
    if file.floor not in allowed:
        return [Finding(file.path, 1, f"src/{file.floor or ''} is no floor: give it a hushgate_floor line")]
    findings = []
    for line, name in file.includes:
        target = name.split("/")[0] if "/" in name else None
        if target is None or target not in allowed:
            findings.append(Finding(file.path, line, f'"{name}" is no file of a floor: write "folder/file.h" for '
                                                     "ours, <...> for others"))
        elif target not in allowed[file.floor]:
            may = ", ".join(sorted(allowed[file.floor]))
            findings.append(Finding(file.path, line, f"{file.floor} may not include {target}, only {may}"))
    return findings
