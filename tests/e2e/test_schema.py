"""`hushgate schema`: what editors and pipelines are given, judged by a validator of draft 2020-12 that is not ours."""

import json
import re
from pathlib import Path

from support import case, check, configuration
from support.case import Skip
from test_command import run, written

README = Path(__file__).resolve().parents[2] / "README.md"
UP = "http://127.0.0.1:9"

FAULTY = [
    {"limits": {"idleTimeoutMs": 0}}, {"limits": {"idleTimeoutMs": "5000"}}, {"limits": {"idleTimeoutMs": 2147483648}},
    {"limits": {"idleTimoutMs": 5}}, {"limits": {"upstreamRetries": 101}}, {"limits": {"maxConnections": "automatic"}},
    {"limits": []}, {"workers": 0}, {"workers": 1025}, {"io": {"backend": "kqueue"}}, {"client": {"halfClose": True}},
    {"client": {"trustedProxies": "10.0.0.0/8"}}, {"upstream": {"maxIdle": -1}}, {"upstreams": {}},
    {"upstreams": {"a b": UP}}, {"upstreams": {"u": "https://h?q"}}, {"upstreams": {"u": {"maxIdle": 1}}},
    {"routes": [{"path": "v1", "upstream": "u"}]}, {"routes": [{"path": "/"}]}, {"listen": []}, {"listen": "8787"},
    {"listen": [{"address": ":1", "tls": {}}]}, {"admin": 8788}, {"unknown": 1},
]


def without_comments(text):
    return re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda found: found.group(1) or "", text)


async def validator(t):
    try:
        from jsonschema import Draft202012Validator
    except ImportError as absent:
        raise Skip("no jsonschema (python3-jsonschema)") from absent
    code, out, err = await run(t, "schema")
    check(code == 0 and not err, f"{code} {err!r}")
    schema = json.loads(out)
    check(schema["$schema"].endswith("2020-12/schema"), schema["$schema"])
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@case
async def the_schema_takes_the_examples_of_the_readme_and_what_check_prints(t):
    judge = await validator(t)
    examples = re.findall(r"^```jsonc\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    check(examples, "the README has no example")
    for example in examples:
        judge.validate(json.loads(without_comments(example)))
        code, out, err = await run(t, "check", "-c", written(t, example))
        check(code == 0, f"{code} {err}")
        judge.validate(json.loads(without_comments(out)))


@case
async def the_schema_and_check_refuse_the_same_faulty_files(t):
    judge = await validator(t)
    for faults in FAULTY:
        file = {**configuration(UP), **faults}
        check(not judge.is_valid(file), f"the schema takes {faults}")
        code, _, _ = await run(t, "check", "-c", written(t, file))
        check(code == 1, f"check takes {faults}")
