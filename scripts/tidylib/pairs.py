"""In the pure folders, whatever has a body has a table test beside it."""

from .tree import Finding

PURE = ("base", "config", "http", "route", "stats")

# A body without a test of its own, and why.
WITHOUT = {
    "src/base/assert.cc": "ends the process; it has nothing to return",
    # Steps of config::load, whose tables name every message and place: load_*_test.cc.
    "src/config/address_text.cc": "listen addresses and URLs: load_test.cc, load_faults_test.cc",
    "src/config/fault.cc": "places and order of faults: load_places_test.cc",
    "src/config/nearest.cc": "suggestions for unknown keys: load_faults_test.cc",
    "src/config/settings.cc": "scalars of every key: load_test.cc, load_faults_test.cc",
    "src/config/structure.cc": "upstreams and routes: load_test.cc, load_faults_test.cc",
    "src/config/validate.cc": "what contradicts: load_faults_test.cc",
    "src/http/start_line.cc": "lines, methods and versions: parser_test.cc, which reads whole heads",
    "src/config/values.cc": "numbers and texts: load_faults_test.cc",
}


def _tests_of(path):
    """x_y.cc may have its tests in x_y_test.cc, or with its siblings in x_test.cc."""
    stem = path.removesuffix(".cc")
    yield stem + "_test.cc"
    while "_" in stem.rsplit("/", 1)[-1]:
        stem = stem.rsplit("_", 1)[0]
        yield stem + "_test.cc"


def check(tree):
    findings = []
    for file in tree.code:
        if file.floor not in PURE or file.suffix != ".cc" or file.name.endswith("_test.cc") or file.path in WITHOUT:
            continue
        test = file.path.removesuffix(".cc") + "_test.cc"
        if not any(name in tree.by_path for name in _tests_of(file.path)):
            findings.append(Finding(file.path, 1, f"{file.floor} is pure: it wants {test}, or a reason in "
                                                  "scripts/tidylib/pairs.py"))
    for path in WITHOUT:
        if path not in tree.by_path and (tree.root / "scripts/tidylib").exists():
            findings.append(Finding("scripts/tidylib/pairs.py", 1, f"{path} is excused but does not exist"))
    return findings
