"""`/v1/keys`: lists, makes, limits, rotates and revokes API keys, for the scope `admin`; `GET /v1/usage`."""

import time
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Response

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.api_route import ApiRoute
from server.api.native.key_schemas import (
    KeyChange,
    KeyList,
    KeyUsage,
    KeyWithSecret,
    ListedKey,
    NewKey,
    Rotation,
    UsageAnswer,
    UsagePeriod,
)
from server.api.requests.errors import ADMISSION, BODY, ApiError, documented
from server.api.requests.json_response import written_whole
from server.keys.editing import NameTaken, NoSuchKey, StoreKeys, limit, rotate
from server.keys.key import owner_of
from server.keys.record import KeyLimits, KeyRecord, Secret, hash_of, new_secret
from server.stores.keys import KeysFull
from server.stores.threads import in_store_thread

KEYS = "/v1/keys"
KEY = KEYS + "/{name}"
SECRET = {"Cache-Control": "no-store"}
"""Headers of an answer with a secret."""
UNKNOWN = "There is no such key in the store."
FIXED = "The key is listed in --api-keys, or this server's store keeps no keys."
TAKEN = "There is a key of that name. Or this server's store keeps no keys, or no more."

Limit = Annotated[int, Query(ge=1, le=1000, description="Keys on a page.")]
After = Annotated[str, Query(max_length=200, description="`next` of the page before.")]
Result = TypeVar("Result")

admin = APIRouter(tags=["administration"], route_class=ApiRoute.requiring("admin"))
router = APIRouter(tags=["usage"], route_class=ApiRoute.requiring("any key"))


@admin.get(KEYS, summary="API keys, without their secrets", response_model=KeyList, responses=documented(*ADMISSION))
async def listed(admitted: Admitted, limit: Limit = 100, after: After = "") -> Response:
    keys = sorted((key for key in admitted.state.keys.keys if key.name > after), key=lambda key: key.name)
    return written_whole(KeyList.of(keys[: limit + 1], limit))


@admin.post(
    KEYS,
    summary="Make an API key; its secret is shown this once",
    status_code=201,
    response_model=KeyWithSecret,
    responses=documented(*ADMISSION, *BODY, "conflict", meanings={"conflict": TAKEN}),
)
async def add(body: NewKey, admitted: Admitted) -> Response:
    keys, secret, now = admitted.state.stored_keys, new_secret(), time.time()
    if body.expires is not None and body.expires <= now:
        raise ApiError("invalid_value", "expires has passed already; it is in seconds since 1970", "expires")
    record = KeyRecord(
        body.name,
        frozenset(body.scopes),
        (Secret(hash_of(secret), body.expires),),
        KeyLimits(**body.limits.model_dump()),
        created=now,
    )
    if any(key.name == body.name for key in admitted.state.keys.keys):
        raise ApiError("conflict", f"there is a key '{body.name}' already", "name")
    try:
        await in_store_thread(keys.add, record)
    except (NameTaken, KeysFull) as error:
        raise ApiError("conflict", str(error), "name") from None
    await admitted.state.follow_stored_keys()
    return _with_secret(record, secret, 201)


@admin.delete(
    KEY,
    summary="Revoke an API key",
    status_code=204,
    responses=documented(*ADMISSION, "not_found", "conflict", meanings={"not_found": UNKNOWN, "conflict": FIXED}),
)
async def revoke(name: str, admitted: Admitted) -> Response:
    await _edited(name, admitted, lambda keys: keys.revoke(name))
    return Response(status_code=204)


@admin.patch(
    KEY,
    summary="Change limits of an API key",
    response_model=ListedKey,
    responses=documented(
        *ADMISSION, *BODY, "not_found", "conflict", meanings={"not_found": UNKNOWN, "conflict": FIXED}
    ),
)
async def limited(name: str, body: KeyChange, admitted: Admitted) -> Response:
    limits = body.limits.model_dump(exclude_unset=True)
    record = await _edited(name, admitted, lambda keys: limit(keys, name, limits))
    return written_whole(ListedKey.of(record, "store"))


@admin.post(
    KEY + "/rotate",
    summary="Give an API key a new secret, shown this once; the others are accepted for a while",
    response_model=KeyWithSecret,
    responses=documented(
        *ADMISSION, *BODY, "not_found", "conflict", meanings={"not_found": UNKNOWN, "conflict": FIXED}
    ),
)
async def rotated(name: str, body: Rotation, admitted: Admitted) -> Response:
    secret, record = await _edited(name, admitted, lambda keys: rotate(keys, name, time.time(), body.keep_seconds))
    return _with_secret(record, secret, 200)


@router.get(
    "/v1/usage",
    summary="Characters that your key has used, and its quotas",
    response_model=UsageAnswer,
    responses=documented(*ADMISSION),
)
async def usage(admitted: Admitted, limit: Limit = 100, after: After = "") -> Response:
    state, asking = admitted.state, admitted.key
    limits = {key.name: key.limits for key in state.keys.keys}
    if asking is None or not asking.is_admin:
        names = [owner_of(asking)]
    else:
        names = sorted(name for name in limits.keys() | state.usage.owners if name > after)[: limit + 1]
    shown = [KeyUsage.of(name, state.usage.used(name), limits.get(name, KeyLimits())) for name in names[:limit]]
    day, month = state.usage.periods
    day_ends, month_ends = state.usage.periods.ends
    return written_whole(
        UsageAnswer(
            day=UsagePeriod(name=day, ends=day_ends),
            month=UsagePeriod(name=month, ends=month_ends),
            keys=shown,
            next=shown[-1].name if len(names) > limit else None,
        )
    )


async def _edited(name: str, admitted: AdmittedRequest, edit: Callable[[StoreKeys], Result]) -> Result:
    """What `edit` returns for the keys of the store, which this server then reads again. Raises ApiError (404, 409)."""
    keys = admitted.state.stored_keys
    _check_changeable(name, admitted)
    try:
        result = await in_store_thread(edit, keys)
    except NoSuchKey as error:
        raise ApiError("not_found", str(error)) from None
    await admitted.state.follow_stored_keys()
    return result


def _check_changeable(name: str, admitted: AdmittedRequest) -> None:
    """Raise ApiError (409) for a key that the settings or their file list."""
    for key in admitted.state.keys.keys:
        if key.name == name and key.origin != "store":
            where = "its settings" if key.origin == "settings" else "the file that --api-keys names"
            raise ApiError("conflict", f"the key '{name}' is listed in {where}: change it there")


def _with_secret(record: KeyRecord, secret: str, status: int) -> Response:
    answer = KeyWithSecret(**ListedKey.of(record, "store").model_dump(), secret=secret)
    response = written_whole(answer)
    response.status_code = status
    response.headers.update(SECRET)
    return response
