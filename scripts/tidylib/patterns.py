"""Things that do not belong where they are."""

import re
from dataclasses import dataclass, field

from .tree import Finding

SYSTEM_CALLS = ("socket|accept4?|bind|listen|connect|shutdown|close|recv|recvmsg|recvfrom|send|sendmsg|sendto|read|write|"
                "readv|writev|splice|poll|ppoll|select|dup|dup2|dup3|pipe|pipe2")
UNMISTAKABLE_CALLS = r"epoll_\w+|io_uring_\w+|accept4|setsockopt|getsockopt|eventfd|timerfd_\w+|ioctl"


@dataclass(frozen=True)
class Rule:
    name: str
    pattern: str
    right: str
    where: str = r"src/"  # paths that the rule is about
    but: str = r"$^"  # paths where it is allowed
    raw: bool = False  # looks at comments and strings too
    kinds: str = "code"
    flags: int = field(default=0)


# Words are written in pieces so that this file does not find itself.
RULES = (
    Rule("marker", r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b|not imple" r"mented",
         "finish it, or leave it out", where=r"", raw=True, kinds="texts"),
    Rule("machine path", r"(?<![\w.$}~-])/(?:wo" r"rk|fa" r"rm|ro" r"ot|ho" r"me/\w+)/",
         "a path of one machine: make it relative or a setting", where=r"", raw=True, kinds="texts"),
    Rule("tab", r"\t", "blanks", where=r"", but=r"(^|/)Makefile$", raw=True, kinds="texts"),
    Rule("trailing blank", r"[ \t]+$", "nothing at the end of a line", where=r"", raw=True, kinds="texts"),
    Rule("end of file", r"[^\n]\Z", "a newline at the end of the file", where=r"", raw=True, kinds="texts", flags=re.DOTALL),
    Rule("std::endl", r"\bstd::endl\b", "'\\n': a flush is never wanted by accident", where=r""),
    Rule("using namespace std", r"\busing\s+namespace\s+std\s*;", "names, or std:: in front", where=r""),
    Rule("new", r"(?<!operator )(?<!operator)(?<!<)\bnew\b(?!\s*\()", "make_unique, a slab or a value", but=r"src/(base|io)/(slab|arena|frame)"),
    Rule("delete", r"(?<!operator )(?<!operator)(?<!= )(?<!=)\bdelete\b(?!\s*;\s*//)", "an owner",
         but=r"src/(base|io)/(slab|arena|frame)"),
    Rule("sleep", r"\b(?:u|nano)?sleep(?:_for|_until)?\s*\(", "await the event, or use the loop's timer"),
    Rule("system call", rf"(?<![\w>:])::(?:{SYSTEM_CALLS})\s*\(|\b(?:{UNMISTAKABLE_CALLS})\s*\(",
         "only src/io touches descriptors", but=r"src/io/|src/upstream/resolver|_test\.cc$"),
    Rule("catch (...)", r"\bcatch\s*\(\s*\.\.\.\s*\)", "catch what can come, by name", where=r""),
    Rule("disabled test", r"\bDISABLED_\w+|\bGTEST_SKIP\(\)\s*;", "a test that runs, or GTEST_SKIP() << \"why\"", where=r""),
)


def check_rule(rule):
    pattern = re.compile(rule.pattern, rule.flags or re.MULTILINE)
    where, but = re.compile(rule.where), re.compile(rule.but)

    def check(tree):
        findings = []
        for file in tree.code if rule.kinds == "code" else tree.texts:
            if not where.match(file.path) or but.search(file.path):
                continue
            text = file.text if rule.raw else file.code
            for match in pattern.finditer(text):
                found = match.group(0).strip() or rule.name
                findings.append(Finding(file.path, file.line_at(match.start()), f"{found}: {rule.right}"))
        return findings

    return check


def check_pragma_once(tree):
    return [Finding(file.path, 1, "no #pragma once") for file in tree.code
            if file.suffix == ".h" and not re.search(r"^#pragma once$", file.text, re.MULTILINE)]
