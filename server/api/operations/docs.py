"""`GET /docs`: the OpenAPI document as a page, made of installed files only."""

from importlib.resources import files

from fastapi import APIRouter, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html

from server.api.admission.api_route import ProbeRoute
from server.api.requests.root_path import published

SCRIPT, STYLE = "swagger-ui-bundle.js", "swagger-ui.css"
MEDIA_TYPES = {SCRIPT: "text/javascript", STYLE: "text/css"}
_NO_ICON = "data:,"

router = APIRouter(route_class=ProbeRoute, include_in_schema=False)


@router.get("/docs")
async def docs(request: Request) -> Response:
    app = request.app
    return get_swagger_ui_html(
        openapi_url=published(request.scope, app.openapi_url),
        title=app.title,
        swagger_js_url=published(request.scope, f"/docs/{SCRIPT}"),
        swagger_css_url=published(request.scope, f"/docs/{STYLE}"),
        swagger_favicon_url=_NO_ICON,
    )


@router.get(f"/docs/{SCRIPT}")
async def script() -> Response:
    return _asset(SCRIPT)


@router.get(f"/docs/{STYLE}")
async def style() -> Response:
    return _asset(STYLE)


def _asset(name: str) -> Response:
    """A file of Swagger UI, from the package fastapi-offline."""
    content = files("fastapi_offline").joinpath("static", name).read_bytes()
    return Response(content, media_type=MEDIA_TYPES[name], headers={"Cache-Control": "max-age=86400"})
