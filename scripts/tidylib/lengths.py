"""Lengths of files, functions and lines."""

import re

from .tree import Finding

FILE_LINES = 400
TEST_FILE_LINES = 800
FUNCTION_LINES = 70
COLUMNS = 100

_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_NOT_A_FUNCTION = re.compile(r"^\s*(?:(?:inline|export|typedef|static|constexpr|const|friend)\s+)*"
                             r"(?:namespace|class|struct|union|enum|extern\s*\")\b")
_INITIALIZER_LIST = re.compile(r"\)[^()]*(?<!:):(?!:)")


def check_files(tree):
    findings = []
    for file in tree.code:
        bound = TEST_FILE_LINES if file.is_test else FILE_LINES
        count = len(file.lines) - 1
        if count > bound:
            findings.append(Finding(file.path, bound + 1, f"{count} lines, at most {bound}: split it by what it is about"))
    return findings


def check_columns(tree):
    return [Finding(file.path, number, f"{len(line)} columns, at most {COLUMNS}")
            for file in tree.code for number, line in enumerate(file.lines, 1) if len(line) > COLUMNS]


def check_functions(tree):
    findings = []
    for file in tree.code:
        if file.is_test:
            continue
        for name, first, last in functions(file.code):
            if last - first + 1 > FUNCTION_LINES:
                findings.append(Finding(file.path, first, f"{name} has {last - first + 1} lines, at most "
                                                          f"{FUNCTION_LINES}: give its steps names"))
    return findings


def functions(code):
    """Yields (name, first line, last line) of every function that is not inside another one. `code` has neither
    comments nor strings. Goes by braces: what stands before an opening one tells what it opens."""
    code = _PREPROCESSOR.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), code)
    open_blocks = []  # (kind, name, first line)
    head_start, line = 0, 1
    for at, char in enumerate(code):
        if char == "\n":
            line += 1
        elif char == "{":
            head = code[head_start:at]
            kind = "inner" if open_blocks and open_blocks[-1][0] in ("function", "inner", "value") else _kind(head)
            first = line - head.lstrip().count("\n")
            open_blocks.append((kind, _name(head), first))
            if kind != "value":
                head_start = at + 1
        elif char == "}" and open_blocks:
            kind, name, first = open_blocks.pop()
            if kind == "function":
                yield name, first, line
            if kind != "value" and not (open_blocks and open_blocks[-1][0] == "value"):
                head_start = at + 1
        elif char == ";" and not (open_blocks and open_blocks[-1][0] == "value"):
            head_start = at + 1


def _kind(head):
    """scope: namespace, class or enum; value: a braced initializer; function: a body."""
    if _NOT_A_FUNCTION.match(re.sub(r"template\s*<[^{};]*>", "", head)):
        return "scope"
    outer = re.sub(r"template\s*<[^{};]*>", "", head)
    while re.search(r"\([^()]*\)", outer):
        outer = re.sub(r"\([^()]*\)", " ", outer)
    if "=" in outer and "operator" not in outer:
        return "value"
    if "(" not in head:
        return "scope" if not head.strip() or head.rstrip().endswith(":") else "value"
    flat = re.sub(r"\{[^{}]*\}", "}", head)
    if _INITIALIZER_LIST.search(flat) and re.search(r"[\w>]\s*$", flat):
        return "value"
    return "function"


def _name(head):
    match = re.search(r"(operator\s*[^\s\w(]+|[\w:~]+)\s*\(", head)
    return match.group(1) if match else "function"
