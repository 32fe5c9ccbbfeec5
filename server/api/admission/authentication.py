"""The key of a request, what the key allows, and the timeout that the request asks for."""

import re

from fastapi import Request

from server.api.requests.errors import ApiError
from server.documents.service import DocumentService
from server.keys.key import Key, LimitReached
from server.keys.record import Scope
from server.keys.ring import KeyRing

KEY_HEADER = "X-API-Key"
TIMEOUT_HEADER = "X-Request-Timeout"
_AUTHORIZATION = re.compile(r"(?:Bearer|DeepL-Auth-Key)\s+(\S+)", re.IGNORECASE)


def authenticate(
    request: Request,
    keys: KeyRing,
    scope: Scope | None,
    presented: str | None,
    admin_is_open: bool,
    is_work: bool = True,
) -> Key | None:
    """The key that was `presented`; None on a server without keys, where the scope `admin` is refused unless
    `admin_is_open`. If the request `is_work`, it counts for the key's concurrency until the key's `release` is called.
    Raises ApiError (401, 403 or 429)."""
    if not keys.is_required:
        if scope == "admin" and not admin_is_open:
            message = "this is for keys of the scope 'admin': start the server with --api-keys, or with --open-admin on"
            raise ApiError("forbidden", message)
        return None
    key = None if presented is None else keys.find(presented)
    if key is None:
        missing = "a key is needed here" if presented is None else "this key is not known here"
        message = f"{missing}: send it as 'Authorization: Bearer KEY' or '{KEY_HEADER}: KEY'"
        raise ApiError("unauthorized", message, headers={"WWW-Authenticate": "Bearer"})
    if scope is not None and not key.may(scope):
        raise ApiError("forbidden", f"this key does not have the scope '{scope}'")
    try:
        key.enter(is_work)
    except LimitReached as limit:
        raise ApiError("overloaded", str(limit), headers={"Retry-After": str(limit.seconds)}) from None
    return key


async def check_document(request: Request, key: Key | None, documents: DocumentService) -> None:
    """Raise UnknownDocument for a document of another key, as for a document that does not exist."""
    document_id = request.path_params.get("document_id")
    if document_id is not None and key is not None and not key.is_admin:
        await documents.check_owner(document_id, key.owner)


def listed_owner(key: Key | None, owner: str | None) -> str | None:
    """The owner whose documents or glossaries are listed for a request that names `owner`; None lists those of all
    owners. Raises ApiError (403)."""
    if key is None or key.is_admin:
        return owner
    if owner not in (None, key.owner):
        raise ApiError("forbidden", "only keys of the scope 'admin' list what others keep: leave out `owner`")
    return key.owner


def presented_key(request: Request) -> str | None:
    """The key in the request's headers, None without one."""
    authorization = _AUTHORIZATION.fullmatch(request.headers.get("authorization", "").strip())
    return authorization[1] if authorization else request.headers.get(KEY_HEADER)


def timeout_of(request: Request, longest: float) -> float:
    """Seconds that the request may take: `longest`, or less if its header X-Request-Timeout has less. Raises ApiError
    (422)."""
    given = request.headers.get(TIMEOUT_HEADER)
    if given is None:
        return longest
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", given) or float(given) == 0:
        raise ApiError(
            "invalid_value", f"{TIMEOUT_HEADER} must be a number of seconds above 0, like 2.5", TIMEOUT_HEADER
        )
    return min(longest, float(given))
