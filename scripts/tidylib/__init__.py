"""The checks of scripts/tidy: each is a function from a Tree to a list of Findings."""

from . import floors, lengths, pairs, patterns, standard, tools
from .tree import Finding, Tree

CHECKS = {
    "floors": floors.check,
    "file length": lengths.check_files,
    "function length": lengths.check_functions,
    "columns": lengths.check_columns,
    **{rule.name: patterns.check_rule(rule) for rule in patterns.RULES},
    "pragma once": patterns.check_pragma_once,
    "standard includes": standard.check,
    "headers alone": tools.check_headers,
    "format": tools.check_format,
    "tests beside": pairs.check,
}

__all__ = ["CHECKS", "Finding", "Tree"]
