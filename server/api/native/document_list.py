"""`GET /v1/documents`: the stored documents in pages. A page begins after a document's place in the order of creation:
documents that come and go meanwhile change no other page."""

import math
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from server.api.admission.admitted_request import Admitted
from server.api.admission.api_route import ApiRoute
from server.api.admission.authentication import listed_owner
from server.api.native.document_schemas import progress_of
from server.api.requests.errors import ADMISSION, ApiError, documented
from server.api.requests.json_response import written_as_set
from server.documents.two_stage import num_pending
from server.stores.interface import Cursor
from server.stores.records import Document
from server.stores.validation import ID_PATTERN
from server.telemetry.labels import RESTING_STATES, DocumentState

DOCUMENTS = "/v1/documents"

router = APIRouter(tags=["documents"], route_class=ApiRoute.requiring("documents"))


class ListedDocument(BaseModel):
    """A document without its sentences."""

    id: str
    state: DocumentState
    progress: float | None = Field(
        description="Share of the sentences that need no more work, 0 to 1; null where an older server kept it."
    )
    created: float = Field(description="Seconds since 1970, as all times here.")
    updated: float = Field(description="When it changed last.")
    expires: float | None = Field(
        description="When it is deleted unless it changes before; null as long as it waits or is translated."
    )
    mode: Literal["offline", "online"]
    source: str
    target: str
    num_sentences: int
    num_translated: int | None = Field(
        description="Sentences that need no more work; null where an older server kept it."
    )
    owner: str | None = Field(
        default=None,
        description="For keys of the scope `admin`: the name of the key that made it, `former:...` of one that is not "
        "known any more; empty without keys.",
    )

    @classmethod
    def of(cls, document: Document, document_ttl: float, shows_owner: bool) -> Self:
        pending = num_pending(document)
        answer = cls(
            id=document.id,
            state=document.state,
            progress=progress_of(document),
            created=document.created,
            updated=document.touched,
            expires=document.touched + document_ttl if document.state in RESTING_STATES else None,
            mode=document.mode,
            source=document.source_language,
            target=document.target_language,
            num_sentences=document.num_sentences,
            num_translated=None if pending is None else document.num_sentences - pending,
        )
        if shows_owner:
            answer.owner = document.owner
        return answer


class DocumentList(BaseModel):
    """A page of documents, the newest first."""

    documents: list[ListedDocument]
    next: str | None = Field(description="`after` of the next page; null on the last.")


@router.get(
    DOCUMENTS,
    summary="Stored documents, the newest first",
    response_model=DocumentList,
    response_model_exclude_unset=True,
    responses=documented(*ADMISSION),
)
async def listed(
    admitted: Admitted,
    limit: Annotated[int, Query(ge=1, le=100, description="Documents on a page.")] = 20,
    after: Annotated[str | None, Query(description="`next` of the page before.")] = None,
    state: Annotated[DocumentState | None, Query(description="Only documents in this state.")] = None,
    owner: Annotated[
        str | None, Query(description="For keys of the scope `admin`: the name of a key; without it, all keys.")
    ] = None,
) -> Response:
    listed_for = listed_owner(admitted.key, owner)
    page = await admitted.state.documents.page(listed_for, limit, None if after is None else _cursor(after), state)
    shows_owners, ttl = admitted.key is not None and admitted.key.is_admin, admitted.state.settings.document_ttl
    following = None if page.after is None else _cursor_text(page.after)
    documents = [ListedDocument.of(document, ttl, shows_owners) for document in page.documents]
    return written_as_set(DocumentList(documents=documents, next=following))


def _cursor_text(cursor: Cursor) -> str:
    return f"{cursor.created!r}~{cursor.document_id}"


def _cursor(text: str) -> Cursor:
    """Raises ApiError (422)."""
    created, _, document_id = text.partition("~")
    try:
        cursor = Cursor(float(created), document_id)
    except ValueError:
        cursor = Cursor(math.nan, document_id)
    if not math.isfinite(cursor.created) or not ID_PATTERN.fullmatch(document_id):
        raise ApiError("invalid_value", "after must be `next` of the page before", "after")
    return cursor
