"""The path prefix under which a proxy publishes the server (ASGI's `root_path`)."""

from collections.abc import Mapping
from typing import Any


def route_path(scope: Mapping[str, Any]) -> str:
    """The path without the prefix, as routes are declared."""
    path, root_path = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root_path) :] if root_path and path.startswith(f"{root_path}/") else path


def published(scope: Mapping[str, Any], path: str) -> str:
    """A path of a route as clients send it."""
    return f"{scope.get('root_path', '')}{path}"
