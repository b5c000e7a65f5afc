"""The files of the project as the checks see them."""

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

CODE = {".cc", ".h"}
TEXT = CODE | {".py", ".sh", ".js", ".mjs", ".json", ".jsonc", ".md", ".txt", ".yml", ".yaml", ".toml", ".cmake"}

_TOKENS = re.compile(
    r'''//[^\n]*|/\*.*?\*/|R"(?P<tag>[^ ()\\\t\n]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+\'''',
    re.DOTALL)


@dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


def _blank(match):
    """A comment, a string or a character becomes blanks of the same shape, so that lines and columns stay."""
    text = match.group(0)
    if text.startswith("'") and match.start() and match.string[match.start() - 1].isalnum():
        return text  # a digit separator: 1'000'000
    kept = re.sub(r"[^\n]", " ", text)
    return '"' + kept[1:-1] + '"' if text[0] in "\"R" else kept


class File:
    def __init__(self, root, path):
        self.path = path
        self.full = Path(root) / path
        self.name = Path(path).name
        self.suffix = Path(path).suffix

    @cached_property
    def text(self):
        return self.full.read_text(encoding="utf-8", errors="replace")

    @cached_property
    def lines(self):
        return self.text.split("\n")

    @cached_property
    def code(self):
        """The text without comments and without what strings hold."""
        return _TOKENS.sub(_blank, self.text)

    @cached_property
    def includes(self):
        """(line, name) of every #include "name"."""
        found = re.finditer(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', self.text, re.MULTILINE)
        return [(self.line_at(m.start(1)), m.group(1)) for m in found]

    def line_at(self, offset):
        return self.text.count("\n", 0, offset) + 1

    @property
    def is_code(self):
        return self.suffix in CODE

    @property
    def is_test(self):
        return not self.path.startswith("src/") or self.name.endswith("_test.cc")

    @property
    def floor(self):
        """The folder of src/ that the file is in, or None."""
        parts = self.path.split("/")
        return parts[1] if parts[0] == "src" and len(parts) > 2 else None


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.files = [File(root, path) for path in self._list() if (self.root / path).is_file()]
        self.by_path = {file.path: file for file in self.files}

    def _list(self):
        if (self.root / ".git").exists():
            out = subprocess.run(["git", "-C", str(self.root), "ls-files", "-coz", "--exclude-standard"],
                                 check=True, capture_output=True).stdout.decode()
            return sorted(set(filter(None, out.split("\0"))))
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*")
                      if path.is_file() and path.relative_to(self.root).parts[0] != "build")

    def reachable(self, file):
        """The paths of what it includes of the project, and that includes in turn; its own too."""
        seen, queue = set(), [file.path]
        while queue:
            path = queue.pop()
            if path in seen:
                continue
            seen.add(path)
            for _, name in self.by_path[path].includes:
                near = os.path.normpath(os.path.join(os.path.dirname(path), name))
                queue += [p for p in (f"src/{name}", name, near) if p in self.by_path]
        return seen

    @property
    def code(self):
        return [file for file in self.files if file.is_code]

    @property
    def texts(self):
        """Every file that a person writes: known endings, and scripts without one."""
        return [file for file in self.files
                if file.suffix in TEXT or (not file.suffix and file.text.startswith("#!"))]
