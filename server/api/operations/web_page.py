"""`GET /`: a web page, which loads files of this package only; for programs, the paths of the API."""

import html
import re
from importlib.resources import files

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from server.api.admission.api_route import ProbeRoute
from server.api.requests.errors import ApiError
from server.api.requests.root_path import published
from server.telemetry.metrics import package_version

INDEX = "index.html"
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
PATHS = {
    "translate": "/v1/translate",
    "documents": "/v1/documents",
    "models": "/v1/models",
    "languages": "/v1/languages",
    "docs": "/docs",
    "openapi": "/openapi.json",
    "ready": "/readyz",
    "metrics": "/metrics",
}
_OWN_LINK = re.compile(rb'((?:href|src)=")/')
_FOLDER = files("server").joinpath("page")
FILES = {path.name: path.read_bytes() for path in _FOLDER.iterdir() if path.name.endswith(tuple(MEDIA_TYPES))}

router = APIRouter(tags=["operations"], route_class=ProbeRoute)


@router.get(
    "/",
    summary="A page to translate with; as JSON, where things are",
    response_model=dict[str, str],
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
)
async def root(request: Request) -> Response:
    """The page for clients that accept HTML, the paths of the API for others."""
    if "text/html" in request.headers.get("accept", ""):
        answer = _index(request)
    else:
        paths = {name: published(request.scope, path) for name, path in PATHS.items()}
        answer = JSONResponse({"name": "RingMT", "version": package_version(), **paths})
    answer.headers["Vary"] = "Accept"
    return answer


@router.get("/page/{name}", include_in_schema=False)
async def page_file(name: str) -> Response:
    if name not in FILES:
        raise ApiError("not_found", "the page has no such file")
    return file(name)


def _index(request: Request) -> Response:
    """The page, whose links have the prefix under which it is published."""
    root = html.escape(published(request.scope, "/")).encode()
    return Response(_OWN_LINK.sub(lambda link: link[1] + root, FILES[INDEX]), media_type="text/html", headers=HEADERS)


def file(name: str) -> Response:
    suffix = name[name.rindex(".") :]
    return Response(FILES[name], media_type=MEDIA_TYPES[suffix], headers=HEADERS)
