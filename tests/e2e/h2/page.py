"""Puts what a script measured into its place on a page: between `<!-- NAME -->` and `<!-- end of NAME -->`."""

import re


def put(path, name, text):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    place = re.escape(begin) + ".*?" + re.escape(end)
    whole = re.sub(place, lambda _: f"{begin}{text.rstrip()}\n{end}", page, flags=re.DOTALL)
    if begin not in page or end not in page:
        raise SystemExit(f"{path} has no place named {name}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(whole)
