"""`GET /spec`: LibreTranslate's part of the OpenAPI document, by whose title some clients recognise the server."""

import json
import re
from typing import Any

from fastapi import APIRouter, Request

from server.api.libretranslate.route import LibreProbeRoute

TITLE = "LibreTranslate"
_REFERENCE = re.compile(r"#/components/schemas/(\w+)")

router = APIRouter(route_class=LibreProbeRoute, include_in_schema=False)


@router.get("/spec")
async def spec(request: Request) -> dict[str, Any]:
    return part_of(request.app.openapi(), TITLE)


def part_of(document: dict[str, Any], tag: str) -> dict[str, Any]:
    """The OpenAPI document of the operations with a tag, which is its title, and of the schemas that they need."""
    tagged = {
        path: {method: operation for method, operation in methods.items() if tag in operation.get("tags", ())}
        for path, methods in document["paths"].items()
    }
    paths = {path: methods for path, methods in tagged.items() if methods}
    schemas = document["components"]["schemas"]
    needed: dict[str, Any] = {}
    missing = _references(paths)
    while missing:
        needed |= {name: schemas[name] for name in missing}
        missing = _references(needed) - needed.keys()
    info = document["info"] | {"title": tag}
    return {"openapi": document["openapi"], "info": info, "paths": paths, "components": {"schemas": needed}}


def _references(part: dict[str, Any]) -> set[str]:
    return set(_REFERENCE.findall(json.dumps(part)))
