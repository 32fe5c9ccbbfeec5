"""DeepL's glossaries: stored under an id, which translations name. A glossary belongs to the key that created it."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from server.api.admission.admitted_request import Admitted
from server.api.deepl.glossary_schemas import (
    DeepLAllDictionaries,
    DeepLAllEntries,
    DeepLDictionaries,
    DeepLDictionary,
    DeepLEntries,
    DeepLGlossaries,
    DeepLGlossary,
    DeepLGlossaryChange,
    DeepLNewGlossaries,
    DeepLNewGlossary,
    DeepLPair,
    DeepLPairs,
    DeepLWrittenEntries,
)
from server.api.deepl.route import DEEPL, FULL, DeepLRoute
from server.api.requests.errors import ADMISSION, BODY, ApiError, documented
from server.api.requests.json_response import written_whole
from server.api.requests.openapi import with_forms
from server.api.serving.language_codes import base_pairs, translates
from server.api.serving.server_state import ServerState
from server.glossaries.service import Dictionary, Glossary
from server.glossaries.tbx_tmx import write_tbx
from server.glossaries.tsv_csv import MalformedEntries, read_entries, write_entries
from server.keys.key import owner_of
from server.runtime.offload import offload
from server.text.base.language_tags import base_language

TSV, TBX = "text/tab-separated-values", "application/x-tbx+xml"
READ_ERRORS = documented(*ADMISSION, *BODY, dialect=DEEPL)
FIND_ERRORS = documented(*ADMISSION, *BODY, "not_found", dialect=DEEPL)
CREATE_ERRORS = {**READ_ERRORS, **FULL}
CHANGE_ERRORS = {**FIND_ERRORS, **FULL}
SourceLang = Annotated[str, Query(description="Of the dictionary.")]
TargetLang = Annotated[str, Query(description="Of the dictionary.")]
router = APIRouter(tags=["DeepL"], route_class=DeepLRoute.requiring("translate"))


@router.get("/v2/glossary-language-pairs", summary="Languages that glossaries are for", responses=READ_ERRORS)
async def pairs(admitted: Admitted) -> DeepLPairs:
    pairs = [
        DeepLPair(source_lang=source, target_lang=target)
        for source, target in base_pairs(admitted.state.routes.listed_pairs)
    ]
    return DeepLPairs(supported_languages=pairs)


@router.post(
    "/v2/glossaries",
    summary="Keep a glossary of one pair of languages",
    status_code=201,
    responses=CREATE_ERRORS,
    openapi_extra=with_forms("DeepLNewGlossary"),
)
async def create(body: DeepLNewGlossary, admitted: Admitted) -> DeepLGlossary:
    made = await _read(admitted.state, [body])
    return DeepLGlossary.of_one_pair(await admitted.state.glossaries.create(owner_of(admitted.key), body.name, made))


@router.get(
    "/v2/glossaries",
    summary="The glossaries of one pair",
    response_model=DeepLGlossaries,
    responses=READ_ERRORS,
)
async def all_glossaries(admitted: Admitted) -> Response:
    kept = await admitted.state.glossaries.of_owner(owner_of(admitted.key))
    pairs = [glossary for glossary in kept if len(glossary.dictionaries) == 1]
    return await offload(
        lambda: written_whole(DeepLGlossaries(glossaries=[DeepLGlossary.of_one_pair(glossary) for glossary in pairs]))
    )


@router.get("/v2/glossaries/{glossary_id}", summary="A glossary without its entries", responses=FIND_ERRORS)
async def info(glossary_id: str, admitted: Admitted) -> DeepLGlossary:
    return DeepLGlossary.of_one_pair(
        _of_one_pair(await admitted.state.glossaries.find(owner_of(admitted.key), glossary_id))
    )


@router.get(
    "/v2/glossaries/{glossary_id}/entries",
    summary="Its entries as TSV, or as TBX",
    response_class=Response,
    responses={**FIND_ERRORS, 200: {"content": {kind: {"schema": {"type": "string"}} for kind in (TSV, TBX)}}},
)
async def entries(
    glossary_id: str,
    admitted: Admitted,
    entries_format: Annotated[Literal["tsv", "tbx"], Query(description="TSV, or a file of TBX-Basic.")] = "tsv",
) -> Response:
    [only] = _of_one_pair(await admitted.state.glossaries.find(owner_of(admitted.key), glossary_id)).dictionaries
    if entries_format == "tbx":
        return await offload(lambda: Response(write_tbx(only.entries, *only.languages), media_type=TBX))
    return await offload(lambda: Response(write_entries(only.entries), media_type=TSV))


@router.delete("/v2/glossaries/{glossary_id}", summary="Delete a glossary", status_code=204, responses=FIND_ERRORS)
@router.delete("/v3/glossaries/{glossary_id}", summary="Delete a glossary", status_code=204, responses=FIND_ERRORS)
async def delete(glossary_id: str, admitted: Admitted) -> None:
    await admitted.state.glossaries.delete(owner_of(admitted.key), glossary_id)


@router.post("/v3/glossaries", summary="Create a glossary of several pairs", status_code=201, responses=CREATE_ERRORS)
async def create_several(body: DeepLNewGlossaries, admitted: Admitted) -> DeepLDictionaries:
    made = await _read(admitted.state, body.dictionaries)
    return DeepLDictionaries.of(await admitted.state.glossaries.create(owner_of(admitted.key), body.name, made))


@router.get("/v3/glossaries", summary="All glossaries", response_model=DeepLAllDictionaries, responses=READ_ERRORS)
async def all_dictionaries(admitted: Admitted) -> Response:
    kept = await admitted.state.glossaries.of_owner(owner_of(admitted.key))
    return await offload(
        lambda: written_whole(DeepLAllDictionaries(glossaries=[DeepLDictionaries.of(glossary) for glossary in kept]))
    )


@router.get("/v3/glossaries/{glossary_id}", summary="A glossary without its entries", responses=FIND_ERRORS)
async def dictionaries(glossary_id: str, admitted: Admitted) -> DeepLDictionaries:
    return DeepLDictionaries.of(await admitted.state.glossaries.find(owner_of(admitted.key), glossary_id))


@router.patch("/v3/glossaries/{glossary_id}", summary="Rename it, add entries", responses=CHANGE_ERRORS)
async def change(glossary_id: str, body: DeepLGlossaryChange, admitted: Admitted) -> DeepLDictionaries:
    new = await _read(admitted.state, body.dictionaries or [])

    def changed(glossary: Glossary) -> Glossary:
        for dictionary in new:
            glossary = glossary.with_entries(dictionary)
        return glossary if body.name is None else glossary.named(body.name)

    return DeepLDictionaries.of(await admitted.state.glossaries.change(owner_of(admitted.key), glossary_id, changed))


@router.get(
    "/v3/glossaries/{glossary_id}/entries",
    summary="The entries of a dictionary",
    response_model=DeepLAllEntries,
    responses=FIND_ERRORS,
)
async def dictionary_entries(
    glossary_id: str, admitted: Admitted, source_lang: SourceLang, target_lang: TargetLang
) -> Response:
    result = _dictionary(
        await admitted.state.glossaries.find(owner_of(admitted.key), glossary_id), source_lang, target_lang
    )
    return await offload(lambda: written_whole(DeepLAllEntries(dictionaries=[DeepLWrittenEntries.of(result)])))


@router.put(
    "/v3/glossaries/{glossary_id}/dictionaries",
    summary="Replace the dictionary of a pair",
    responses=CHANGE_ERRORS,
    openapi_extra=with_forms("DeepLEntries"),
)
async def replace_dictionary(glossary_id: str, body: DeepLEntries, admitted: Admitted) -> DeepLDictionary:
    [new] = await _read(admitted.state, [body])
    await admitted.state.glossaries.change(
        owner_of(admitted.key), glossary_id, lambda glossary: glossary.with_dictionary(new)
    )
    return DeepLDictionary.of(new)


@router.delete(
    "/v3/glossaries/{glossary_id}/dictionaries",
    summary="Delete a dictionary",
    status_code=204,
    responses=FIND_ERRORS,
)
async def delete_dictionary(
    glossary_id: str, admitted: Admitted, source_lang: SourceLang, target_lang: TargetLang
) -> None:
    await admitted.state.glossaries.change(
        owner_of(admitted.key),
        glossary_id,
        lambda glossary: glossary.without_dictionary(_dictionary(glossary, source_lang, target_lang)),
    )


async def _read(state: ServerState, dictionaries: Sequence[DeepLEntries]) -> list[Dictionary]:
    """Dictionaries of served languages, one for each pair. Raises ApiError."""
    read: dict[tuple[str, str], Dictionary] = {}
    for dictionary in dictionaries:
        pair = (base_language(dictionary.source_lang), base_language(dictionary.target_lang))
        if not translates(state.routes.known_languages, pair):
            raise ApiError("invalid_value", f"Glossaries from {pair[0]} to {pair[1]} not supported.", "target_lang")
        if pair in read:
            raise ApiError("invalid_value", f"There are two dictionaries from {pair[0]} to {pair[1]}.", "dictionaries")
        try:
            entries = await offload(read_entries, dictionary.entries, dictionary.entries_format, *pair)
        except MalformedEntries as error:
            raise ApiError("invalid_value", f"Value for 'entries' not supported: {error}.", "entries") from None
        read[pair] = Dictionary(*pair, entries)
    return list(read.values())


def _of_one_pair(glossary: Glossary) -> Glossary:
    """Raises ApiError (404) for one that only /v3 knows."""
    if len(glossary.dictionaries) != 1:
        message = f"Glossary has {len(glossary.dictionaries)} dictionaries: /v2 knows those of one, /v3 all."
        raise ApiError("not_found", message)
    return glossary


def _dictionary(glossary: Glossary, source_lang: str, target_lang: str) -> Dictionary:
    """Raises ApiError (404)."""
    pair = base_language(source_lang), base_language(target_lang)
    dictionary = glossary.dictionary(*pair)
    if dictionary is None:
        raise ApiError("not_found", f"Dictionary not found: the glossary has none from {pair[0]} to {pair[1]}.")
    return dictionary
