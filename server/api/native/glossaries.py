"""`/v1/glossaries`: lists and deletes stored glossaries, of all owners with the scope `admin`."""

from collections.abc import Sequence
from typing import Annotated, Self

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from server.api.admission.admitted_request import Admitted
from server.api.admission.api_route import ApiRoute
from server.api.admission.authentication import listed_owner
from server.api.requests.errors import ADMISSION, documented
from server.api.requests.json_response import written_as_set
from server.glossaries.service import OwnedGlossary
from server.keys.key import owner_of

GLOSSARIES = "/v1/glossaries"

router = APIRouter(tags=["glossaries"], route_class=ApiRoute.requiring("translate"))


class ListedDictionary(BaseModel):
    source: str
    target: str
    entries: int = Field(description="How many.")


class ListedGlossary(BaseModel):
    """A glossary without its entries."""

    id: str
    name: str
    created: float = Field(description="Seconds since 1970.")
    size: int = Field(description="Bytes that count for max_glossary_bytes.")
    dictionaries: list[ListedDictionary]
    owner: str | None = Field(
        default=None,
        description="For keys of the scope `admin`: the name of the key that made it, `former:...` of one that is not "
        "known any more; empty without keys.",
    )

    @classmethod
    def of(cls, glossary: OwnedGlossary, shows_owner: bool) -> Self:
        answer = cls(
            id=glossary.id,
            name=glossary.name,
            created=glossary.created,
            size=glossary.num_bytes,
            dictionaries=[
                ListedDictionary(source=source, target=target, entries=entries)
                for source, target, entries in glossary.pairs
            ],
        )
        if shows_owner:
            answer.owner = glossary.owner
        return answer


class GlossaryList(BaseModel):
    """A page of glossaries, by id."""

    glossaries: list[ListedGlossary]
    next: str | None = Field(description="`after` of the next page; null on the last.")

    @classmethod
    def of(cls, found: Sequence[OwnedGlossary], limit: int, shows_owners: bool) -> Self:
        shown = [ListedGlossary.of(glossary, shows_owners) for glossary in found[:limit]]
        return cls(glossaries=shown, next=shown[-1].id if len(found) > limit else None)


@router.get(
    GLOSSARIES,
    summary="Stored glossaries",
    response_model=GlossaryList,
    response_model_exclude_unset=True,
    responses=documented(*ADMISSION),
)
async def listed(
    admitted: Admitted,
    limit: Annotated[int, Query(ge=1, le=100, description="Glossaries on a page.")] = 20,
    after: Annotated[str, Query(max_length=100, description="`next` of the page before.")] = "",
    owner: Annotated[
        str | None, Query(description="For keys of the scope `admin`: the name of a key; without it, all keys.")
    ] = None,
) -> Response:
    listed_for = listed_owner(admitted.key, owner)
    result = await admitted.state.glossaries.page(listed_for, limit + 1, after)
    return written_as_set(GlossaryList.of(result, limit, admitted.key is not None and admitted.key.is_admin))


@router.delete(
    GLOSSARIES + "/{glossary_id}",
    summary="Delete a glossary",
    status_code=204,
    responses=documented(*ADMISSION, "not_found", meanings={"not_found": "There is no such glossary."}),
)
async def delete(glossary_id: str, admitted: Admitted) -> Response:
    glossaries, owner = admitted.state.glossaries, owner_of(admitted.key)
    if admitted.key is not None and admitted.key.is_admin:
        owner = await glossaries.owner_of(glossary_id)
    await glossaries.delete(owner, glossary_id)
    return Response(status_code=204)
