"""Names of the standard library that a header uses, and the includes that it owes for them."""

import re

from .tree import Finding

# Header: the names of std:: that it stands for, as far as our headers use them. Without names: others bring it along.
HEADERS = {
    "algorithm": "max min clamp push_heap pop_heap sort ranges",
    "array": "array",
    "atomic": "atomic memory_order_relaxed memory_order_acquire memory_order_release",
    "bit": "bit_cast bit_width byteswap countr_zero endian",
    "charconv": "from_chars to_chars",
    "chrono": "chrono milli",
    "compare": "strong_ordering",
    "condition_variable": "condition_variable",
    "coroutine": "coroutine_handle noop_coroutine suspend_always suspend_never",
    "cstddef": "byte nullptr_t ptrdiff_t",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t",
    "cstdlib": "abort getenv",
    "cstring": "memcmp memcpy memmove memset strlen",
    "deque": "deque",
    "exception": "exception exception_ptr terminate",
    "expected": "expected unexpected",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream",
    "functional": "equal_to function hash less move_only_function",
    "initializer_list": "initializer_list",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "make_shared make_unique make_unique_for_overwrite shared_ptr unique_ptr weak_ptr",
    "mutex": "lock_guard mutex scoped_lock unique_lock",
    "optional": "nullopt optional",
    "ostream": "ostream",
    "random": "mt19937_64 uniform_int_distribution",
    "set": "set",
    "span": "span",
    "string": "stoi string to_string",
    "string_view": "string_view",
    "thread": "jthread this_thread thread",
    "type_traits": "is_enum_v is_integral_v is_same_v underlying_type_t",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "",
    "variant": "get_if holds_alternative monostate variant visit",
    "vector": "vector",
}
# What most headers want: parsed once for all by tools.py.
COMMON = ["algorithm", "array", "chrono", "cstddef", "cstdint", "expected", "functional", "memory", "optional", "span",
          "string", "string_view", "utility", "vector"]
# What a header brings along by its own specification or in every implementation there is.
BRINGS = {"string": ["string_view", "initializer_list"], "memory": ["type_traits"], "optional": ["type_traits"],
          "variant": ["type_traits"], "expected": ["type_traits"], "functional": ["type_traits"],
          "utility": ["type_traits"]}
_OF = {name: header for header, names in HEADERS.items() for name in names.split()}
_USE = re.compile(r"\bstd::([a-z_0-9]+)")
_INCLUDE = re.compile(r"^#include <([^>]+)>", re.MULTILINE)


def check(tree):
    """A header's names of std:: come from what it, or what it includes of the project, includes."""
    findings = []
    for file in tree.code:
        if file.suffix != ".h":
            continue
        included = {name for path in tree.reachable(file) for name in _INCLUDE.findall(tree.by_path[path].text)}
        included |= {more for name in included for more in BRINGS.get(name, [])}
        owed = {}
        for match in _USE.finditer(file.code):
            header = _OF.get(match.group(1))
            if header and header not in included:
                owed.setdefault(header, match)
        findings += [Finding(file.path, file.line_at(match.start()),
                             f"uses {match.group(0)} without <{header}>") for header, match in owed.items()]
    return findings
