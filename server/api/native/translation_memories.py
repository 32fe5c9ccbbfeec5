"""`/v1/translation_memories`: keeps pairs that people confirmed, and imports and exports them."""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import PurePath
from typing import Annotated, get_args

from fastapi import APIRouter, File, Query, Response, UploadFile

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.api_route import ApiRoute
from server.api.admission.authentication import listed_owner
from server.api.admission.server_sent_events import Events, FileStream
from server.api.native.translation_memory_schemas import (
    AddedEntries,
    EntryList,
    ImportedEntries,
    MemoryAnswer,
    MemoryList,
    NewEntries,
    NewEntry,
    NewMemory,
)
from server.api.requests.content_disposition import attachment
from server.api.requests.errors import ADMISSION, BODY, ApiError, ErrorType, documented
from server.api.requests.json_response import written_as_set
from server.api.serving.language_codes import base_pairs, translates
from server.keys.key import owner_of
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload, offload_above
from server.telemetry.metrics import package_version
from server.text.base.language_tags import base_language
from server.translation_memory.entries import RefusedPair, checked
from server.translation_memory.exchange import (
    TMX_END,
    TMX_TYPE,
    FileFormat,
    MalformedFile,
    read_pairs,
    tmx_beginning,
    tmx_units,
)
from server.translation_memory.pairs import Pair
from server.translation_memory.service import TranslationMemory

PATH = "/v1/translation_memories"
MEMORY = PATH + "/{memory_id}"
ENTRIES = MEMORY + "/entries"
FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
MISSING: Mapping[ErrorType, str] = {"not_found": "There is no such translation memory, or entry."}
READ_ERRORS = documented(*ADMISSION, "not_found", meanings=MISSING)
WRITE_ERRORS = documented(*ADMISSION, *BODY, "not_found", meanings=MISSING)
Owner = Annotated[
    str | None, Query(description="For keys of the scope `admin`: the name of a key, whose memories are meant.")
]

router = APIRouter(tags=["translation memories"], route_class=ApiRoute.requiring("translate"))


@router.post(PATH, summary="Make a translation memory", status_code=201, responses=documented(*ADMISSION, *BODY))
async def create(body: NewMemory, admitted: Admitted) -> MemoryAnswer:
    source, target = base_language(body.source), base_language(body.target)
    routes = admitted.state.routes
    if not translates(routes.known_languages, (source, target)):
        served = ", ".join(f"{first} to {second}" for first, second in base_pairs(routes.listed_pairs)[:20])
        raise ApiError("invalid_value", f"no model translates from {source[:35]} to {target[:35]}: {served}", "target")
    memories = admitted.state.translation_memories
    return MemoryAnswer.of(await memories.create(owner_of(admitted.key), body.name, source, target))


@router.get(
    PATH,
    summary="Your translation memories",
    response_model=MemoryList,
    responses=documented(*ADMISSION),
)
async def listed(admitted: Admitted, owner: Owner = None) -> Response:
    memories = await admitted.state.translation_memories.of_owner(_owner(admitted, owner))
    return written_as_set(MemoryList(translation_memories=[MemoryAnswer.of(memory) for memory in memories]))


@router.get(MEMORY, summary="A translation memory without its entries", responses=READ_ERRORS)
async def info(memory_id: str, admitted: Admitted, owner: Owner = None) -> MemoryAnswer:
    return MemoryAnswer.of(await admitted.state.translation_memories.find(_owner(admitted, owner), memory_id))


@router.delete(MEMORY, summary="Delete a translation memory", status_code=204, responses=READ_ERRORS)
async def delete(memory_id: str, admitted: Admitted, owner: Owner = None) -> Response:
    await admitted.state.translation_memories.delete(_owner(admitted, owner), memory_id)
    return Response(status_code=204)


@router.post(ENTRIES, summary="Add entries", responses=WRITE_ERRORS)
async def add(memory_id: str, body: NewEntries, admitted: Admitted) -> AddedEntries:
    num_chars = sum(len(entry.source) + len(entry.target) for entry in body.entries)
    pairs = await offload_above(num_chars, _pairs, body.entries)
    memories = admitted.state.translation_memories
    return AddedEntries.of(await memories.add(owner_of(admitted.key), memory_id, pairs, "manual"))


@router.get(ENTRIES, summary="The entries, by their last write", response_model=EntryList, responses=READ_ERRORS)
async def entries(
    memory_id: str,
    admitted: Admitted,
    limit: Annotated[int, Query(ge=1, le=500, description="Entries on a page.")] = 100,
    after: Annotated[int, Query(ge=0, le=2**53, description="`next` of the page before.")] = 0,
    owner: Owner = None,
) -> Response:
    memories = admitted.state.translation_memories
    found = await memories.entries(_owner(admitted, owner), memory_id, after, limit + 1)
    return await offload(lambda: written_as_set(EntryList.of(found, limit)))


@router.delete(ENTRIES + "/{entry_id}", summary="Delete an entry", status_code=204, responses=READ_ERRORS)
async def remove(memory_id: str, entry_id: str, admitted: Admitted, owner: Owner = None) -> Response:
    await admitted.state.translation_memories.remove(_owner(admitted, owner), memory_id, entry_id)
    return Response(status_code=204)


@router.post(MEMORY + "/import", summary="Add the entries of a file", responses=WRITE_ERRORS)
async def import_file(
    memory_id: str,
    admitted: Admitted,
    file: Annotated[UploadFile, File(description="TMX, CSV or TSV, in UTF-8 or UTF-16. Its name says which.")],
) -> ImportedEntries:
    memories, owner = admitted.state.translation_memories, owner_of(admitted.key)
    memory = await memories.find(owner, memory_id)
    data = await admitted.read(file)
    read = await offload(read_pairs, data, _format_of(file.filename), *memory.languages, memories.most_read)
    if not read.pairs and not read.refused:
        raise MalformedFile(f"the file has no pair from {memory.source} to {memory.target}")
    added = await memories.add(owner, memory_id, read.pairs, "import")
    return ImportedEntries(
        new=added.new,
        replaced=added.replaced,
        repeated=len(read.pairs) - added.new - added.replaced,
        refused=dict(read.refused),
    )


@router.get(
    MEMORY + "/export",
    summary="The entries as TMX",
    response_class=Response,
    responses={200: {"content": {TMX_TYPE: {"schema": {"type": "string"}}}}, **READ_ERRORS},
)
async def export(memory_id: str, admitted: Admitted, owner: Owner = None) -> Response:
    memories, of_owner = admitted.state.translation_memories, _owner(admitted, owner)
    memory = await memories.find(of_owner, memory_id)
    parts = _tmx(memory, memories.pages(of_owner, memory_id))
    headers = {"Content-Disposition": attachment(f"{memory.name}.tmx")}
    deadline = time.monotonic() + admitted.state.settings.file_timeout
    return FileStream(parts, deadline, TMX_TYPE, headers)


def _pairs(entries: Sequence[NewEntry]) -> list[Pair]:
    """Raises ApiError (422) for one that cannot be kept."""
    pairs: list[Pair] = []
    for number, entry in enumerate(entries):
        checkpoint()
        try:
            pairs.append(checked(entry.source, entry.target))
        except RefusedPair as error:
            raise ApiError("invalid_value", f"entries: number {number} cannot be kept: {error}", "entries") from None
    return pairs


async def _tmx(memory: TranslationMemory, pages: AsyncGenerator[list[Pair], None]) -> Events:
    yield tmx_beginning(memory.source, package_version()).encode()
    async with aclosing(pages):
        async for pairs in pages:
            yield await offload(_units, memory, pairs)
    yield TMX_END.encode()


def _units(memory: TranslationMemory, pairs: Sequence[Pair]) -> bytes:
    return "".join(tmx_units(pairs, *memory.languages)).encode()


def _format_of(name: str | None) -> FileFormat:
    """Raises ApiError (415)."""
    suffix = PurePath(name or "").suffix.lower().removeprefix(".")
    for written in FORMATS:
        if suffix == written:
            return written
    raise ApiError("unsupported_media_type", f"the file's name must end with {', .'.join(('', *FORMATS))[2:]}", "file")


def _owner(admitted: AdmittedRequest, owner: str | None) -> str:
    """Whose memories a request is about: those of its key, or of the key that it names. Raises ApiError (403)."""
    if owner is None:
        return owner_of(admitted.key)
    listed_owner(admitted.key, owner)
    return owner
