"""Compares answers of the site with the OpenAPI schema of Mastodon's documentation, in an environment with jsonschema.

Arguments: the schema, and a file with one exchange as JSON in each line. It prints one line of JSON for each method,
path and status: {"test": …, "outcome": …, "message": …}. An answer that the schema does not describe is skipped.
"""

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

Json = dict[str, Any]


def load_schema(path: Path) -> Json:
    content = path.read_bytes()
    schema: Json = repair(json.loads(gzip.decompress(content) if path.suffix == ".gz" else content))
    return schema


def repair(node: Any) -> Any:
    """Repair two faults of the schema: the kinds of a quote overlap, and null stands beside a reference."""
    if isinstance(node, list):
        return [repair(each) for each in node]
    if not isinstance(node, dict):
        return node
    node = {"anyOf" if name == "oneOf" else name: repair(value) for name, value in node.items()}
    if "$ref" in node and "null" in node.get("type", ""):
        return {"anyOf": [{"$ref": node["$ref"]}, {"type": "null"}]}
    return node


def find_template(schema: Json, path: str) -> str | None:
    """Return the path of the schema with the fewest parameters."""
    matching = [
        each for each in schema["paths"] if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(each)), path)
    ]
    return min(matching, key=lambda each: each.count("{"), default=None)


def find_answer_schema(schema: Json, template: str | None, exchange: Json) -> Json | None:
    """Return the schema of the answer, or None if it has none."""
    responses = schema["paths"].get(template, {}).get(exchange["method"], {}).get("responses", {})
    content = responses.get(str(exchange["status"]), {}).get("content", {})
    found: Json | None = content.get("application/json", {}).get("schema")
    return found


def check(schema: Json, exchanges: list[Json]) -> Iterator[tuple[str, str, str]]:
    for exchange in exchanges:
        template = find_template(schema, exchange["path"])
        name = f"{exchange['method'].upper()} {template or exchange['path']} {exchange['status']}"
        answer = find_answer_schema(schema, template, exchange)
        if answer is None:
            yield name, "skipped", "not in the schema"
            continue
        validator = Draft202012Validator(
            {**answer, "components": schema["components"]}, format_checker=Draft202012Validator.FORMAT_CHECKER
        )
        error = best_match(validator.iter_errors(exchange["body"]))
        yield (
            name,
            "passed" if error is None else "failed",
            "" if error is None else f"{error.json_path}: {error.message}",
        )


def main(schema_path: str, exchanges_path: str) -> None:
    schema = load_schema(Path(schema_path))
    exchanges = [json.loads(line) for line in Path(exchanges_path).read_text().splitlines()]
    for name, outcome, message in check(schema, exchanges):
        print(json.dumps({"test": name, "outcome": outcome, "message": message}))


if __name__ == "__main__":
    main(*sys.argv[1:])
