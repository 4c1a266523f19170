"""Compares the answers of a running server with Flink's own description of its REST API.

`python -m tests.conformance.flink_rest rest_v1_dispatcher.yml http://127.0.0.1:8081` asks a server without a token that
has a running job, and prints fields that Flink's description has and the answers lack. The description is in Flink's
repository (docs/static/generated) and needs PyYAML; it is not kept here.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from typing import Any

# Answers that have other names in Flink's description than on the wire; those of the wire are what clients read.
WIRE_NAMES = {
    "/jobs/{jobid}/config": {"executionConfigInfo", "jobId", "jobName"},
    "/jobs/{jobid}/execution-result": {"job-execution-result"},
}


def missing(schema: dict[str, Any], answer: Any, schemas: dict[str, Any], where: str) -> list[str]:
    """Fields of a schema that an answer lacks, with where they are missing."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "array" and isinstance(answer, list):
        return missing(schema["items"], answer[0], schemas, f"{where}[0]") if answer else []
    found: list[str] = []
    for part in schema.get("allOf", ()):
        found += missing(part, answer, schemas, where)
    if isinstance(answer, dict):
        for name, inner in schema.get("properties", {}).items():
            if name not in answer:
                found.append(f"{where}.{name}")
            elif answer[name] is not None:
                found += missing(inner, answer[name], schemas, f"{where}.{name}")
    return found


def main(description: str, server: str) -> None:
    """Ask for everything that can be asked for by GET."""
    import yaml

    with open(description) as stream:
        told = yaml.safe_load(stream)
    job = _get(f"{server}/jobs")["jobs"][0]["id"]
    vertex = _get(f"{server}/jobs/{job}")["vertices"][1]["id"]
    worker = _get(f"{server}/taskmanagers")["taskmanagers"][0]["id"]
    checkpoint = _get(f"{server}/jobs/{job}/checkpoints")["latest"]["completed"]["id"]
    values = {"jobid": job, "vertexid": vertex, "taskmanagerid": worker, "checkpointid": checkpoint}
    values |= {"subtaskindex": 0, "attempt": 0, "applicationid": job}
    for path, methods in told["paths"].items():
        try:
            answer = _get(f"{server}/v1{path.format(**values)}") if "get" in methods else None
        except KeyError:
            continue
        except OSError as error:
            print(f"{path}: {error}")
            continue
        content = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema is not None:
            lacking = missing(schema, answer, told["components"]["schemas"], "")
            lacking = [each for each in lacking if each.lstrip(".") not in WIRE_NAMES.get(path, set())]
            print(f"{path}: {', '.join(lacking) or 'all there'}")


def _get(url: str) -> Any:
    with urllib.request.urlopen(url) as stream:
        return json.load(stream)


if __name__ == "__main__":
    main(*sys.argv[1:])
