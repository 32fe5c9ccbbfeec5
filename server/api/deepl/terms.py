"""Terms of a translation from the glossaries that it names."""

from collections.abc import Sequence

from server.api.admission.admitted_request import AdmittedRequest
from server.api.requests.errors import ApiError
from server.glossaries.service import NoDictionary
from server.keys.key import owner_of
from server.stores.glossaries import UnknownGlossary
from server.text.base.language_tags import base_language
from server.text.protect.terms import Terms

MOST_GLOSSARIES = 5


def named_glossaries(glossary_id: str | None, glossary_ids: Sequence[str] | None, source_lang: str | None) -> list[str]:
    """The ids of a request that names one or several. Raises ApiError."""
    if not glossary_id and not glossary_ids:
        return []
    if glossary_id and glossary_ids:
        raise ApiError("invalid_value", "Value for 'glossary_ids' not supported with 'glossary_id'.", "glossary_ids")
    if not source_lang:
        raise ApiError("invalid_value", "'source_lang' is missing: a glossary needs it.", "source_lang")
    ids = [glossary_id] if glossary_id else list(glossary_ids or ())
    if len(ids) > MOST_GLOSSARIES:
        message = f"Value for 'glossary_ids' not supported: at most {MOST_GLOSSARIES}, not {len(ids)}."
        raise ApiError("invalid_value", message, "glossary_ids")
    return ids


async def terms_of(admitted: AdmittedRequest, glossary_ids: Sequence[str], languages: tuple[str, str]) -> Terms | None:
    """The terms of the glossaries for two languages; the first glossary that has a term decides. None without
    glossaries. Raises ApiError (400) for a glossary that is unknown or has no dictionary of the languages."""
    if not glossary_ids:
        return None
    source, target = map(base_language, languages)
    field = "glossary_id" if len(glossary_ids) == 1 else "glossary_ids"
    try:
        return await admitted.state.glossaries.terms(owner_of(admitted.key), glossary_ids, source, target)
    except UnknownGlossary:
        raise ApiError("invalid_value", f"Value for '{field}' not supported: no such glossary.", field) from None
    except NoDictionary:
        message = f"Value for '{field}' not supported: it has no dictionary from {source} to {target}."
        raise ApiError("invalid_value", message, field) from None
