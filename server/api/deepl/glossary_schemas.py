"""The fields of DeepL's glossaries: one pair of languages each under /v2, several under /v3."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from server.api.requests.fields import check_text
from server.glossaries.service import Dictionary, Glossary
from server.glossaries.tsv_csv import MOST_BYTES, EntriesFormat, write_entries


def check_name(value: Any) -> Any:
    if isinstance(value, str) and not 0 < len(check_text(value).encode()) <= MOST_BYTES:
        raise PydanticCustomError("name_length", "must have 1 to {most} bytes", {"most": MOST_BYTES})
    return value


Name = Annotated[str, BeforeValidator(check_name)]


class DeepLEntries(BaseModel):
    """The terms of one pair of languages."""

    model_config = ConfigDict(extra="forbid")

    source_lang: str = Field(examples=["en"])
    target_lang: str = Field(description="With or without a region, which changes nothing.", examples=["de"])
    entries: Annotated[str, BeforeValidator(check_text)] = Field(
        description="A line for each entry: the term, a tab or a comma, and the translation. Or a file of TBX or TMX.",
        examples=["bug report\tFehlerbericht"],
    )
    entries_format: EntriesFormat = "tsv"


class DeepLNewGlossary(DeepLEntries):
    """`POST /v2/glossaries`"""

    name: Name


class DeepLNewGlossaries(BaseModel):
    """`POST /v3/glossaries`"""

    model_config = ConfigDict(extra="forbid")

    name: Name
    dictionaries: list[DeepLEntries] = Field(min_length=1)


class DeepLGlossaryChange(BaseModel):
    """`PATCH /v3/glossaries/ID`: absent fields change nothing."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    dictionaries: list[DeepLEntries] | None = Field(
        None, description="Entries replace entries of the same terms, or are added."
    )


class DeepLPair(BaseModel):
    source_lang: str
    target_lang: str


class DeepLPairs(BaseModel):
    supported_languages: list[DeepLPair]


class DeepLDictionary(DeepLPair):
    entry_count: int

    @classmethod
    def of(cls, dictionary: Dictionary) -> "DeepLDictionary":
        return cls(source_lang=dictionary.source, target_lang=dictionary.target, entry_count=len(dictionary.entries))


class DeepLGlossary(DeepLDictionary):
    """A glossary of one pair."""

    glossary_id: str
    name: str
    ready: bool = Field(True, description="Always: it can be used at once.")
    creation_time: str

    @classmethod
    def of_one_pair(cls, glossary: Glossary) -> "DeepLGlossary":
        [only] = glossary.dictionaries
        pair = DeepLDictionary.of(only).model_dump()
        return cls(glossary_id=glossary.id, name=glossary.name, creation_time=_time_of(glossary), **pair)


class DeepLGlossaries(BaseModel):
    glossaries: list[DeepLGlossary]


class DeepLDictionaries(BaseModel):
    """A glossary of any number of pairs."""

    glossary_id: str
    name: str
    dictionaries: list[DeepLDictionary]
    creation_time: str

    @classmethod
    def of(cls, glossary: Glossary) -> "DeepLDictionaries":
        return cls(
            glossary_id=glossary.id,
            name=glossary.name,
            dictionaries=[DeepLDictionary.of(dictionary) for dictionary in glossary.dictionaries],
            creation_time=_time_of(glossary),
        )


class DeepLAllDictionaries(BaseModel):
    glossaries: list[DeepLDictionaries]


class DeepLWrittenEntries(DeepLPair):
    entries: str
    entries_format: EntriesFormat

    @classmethod
    def of(cls, dictionary: Dictionary) -> "DeepLWrittenEntries":
        entries = write_entries(dictionary.entries)
        return cls(source_lang=dictionary.source, target_lang=dictionary.target, entries=entries, entries_format="tsv")


class DeepLAllEntries(BaseModel):
    dictionaries: list[DeepLWrittenEntries]


def _time_of(glossary: Glossary) -> str:
    return datetime.fromtimestamp(glossary.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
