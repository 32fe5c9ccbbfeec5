"""The tools: their names, what a language model reads about them, and what they call."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

from server.api.admission.admitted_request import AdmittedRequest
from server.api.mcp import calls
from server.api.mcp.schemas import (
    Arguments,
    Document,
    DocumentArguments,
    Languages,
    NoArguments,
    ScoreArguments,
    Scores,
    TranslateArguments,
    Translations,
)
from server.api.requests.limits import most_document_texts
from server.api.requests.validation_errors import first_error, invalid_field, validated
from server.api.serving.routing import RoutingTable
from server.settings import Settings

Taken = TypeVar("Taken", bound=Arguments)


@dataclass(frozen=True)
class Tool(Generic[Taken]):
    """`call` is what it does with its arguments; it returns a `returns`."""

    name: str
    title: str
    description: str
    takes: type[Taken]
    returns: type[BaseModel]
    call: Callable[[Taken, AdmittedRequest], Awaitable[BaseModel]]
    most_texts: Callable[[Settings], int] = lambda settings: settings.max_texts

    def input_schema(self, settings: Settings, routes: RoutingTable) -> dict[str, Any]:
        """The JSON schema of its arguments, with the limits and languages of this server."""
        schema: dict[str, Any] = _without_titles(self.takes.model_json_schema())
        schema.pop("description", None)
        fields = schema["properties"]
        for name in self.takes.texts:
            for part in fields[name].get("anyOf", [fields[name]]):
                text = part.get("items", part)
                text["maxLength"] = settings.max_text_chars
                if text is not part:
                    part["maxItems"] = self.most_texts(settings)
        if "alternatives" in fields:
            fields["alternatives"]["maximum"] = settings.engine.max_beam_size - 1
        for name, codes in (("source", routes.languages), ("target", routes.targets)):
            if name in fields:
                fields[name]["description"] += f" Served: {', '.join(codes)}."
        return schema

    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of what it returns."""
        schema: dict[str, Any] = _without_titles(self.returns.model_json_schema())
        return schema

    async def run(self, arguments: Mapping[str, Any], admitted: AdmittedRequest) -> BaseModel:
        """The result. Raises ApiError (422) that names the first argument that is wrong, and what `call` raises."""
        try:
            taken = validated(self.takes, dict(arguments))
        except RequestValidationError as error:
            raise invalid_field(first_error(error), self.takes) from None
        return await self.call(taken, admitted)


TOOLS: dict[str, Tool[Any]] = {
    tool.name: tool
    for tool in (
        Tool(
            "translate",
            "Translate texts",
            "Translate a text or a list of texts that do not depend on each other: sentences, labels, messages. Each "
            "is answered with its translation, the language it was in, and flags where the translation looks wrong.",
            TranslateArguments,
            Translations,
            calls.translate,
        ),
        Tool(
            "translate_document",
            "Translate a document",
            "Translate connected text, such as an article, a chapter or the cues of a film: each sentence is "
            "translated with the others as context, so that pronouns fit. Takes the whole text, or its parts in order.",
            DocumentArguments,
            Document,
            calls.translate_document,
            most_document_texts,
        ),
        Tool(
            "score",
            "Score translations",
            "Compute how probable given translations of one sentence are, for instance to choose the best of several, "
            "or to judge a translation that somebody else made.",
            ScoreArguments,
            Scores,
            calls.score,
        ),
        Tool(
            "list_languages",
            "List languages",
            "List the languages that can be translated, and into which languages each.",
            NoArguments,
            Languages,
            calls.list_languages,
        ),
    )
}


def _without_titles(schema: Any) -> Any:
    """The schema without the titles that pydantic makes of the names of fields and classes."""
    if isinstance(schema, dict):
        return {
            name: _without_titles(value)
            for name, value in schema.items()
            if not (name == "title" and isinstance(value, str))
        }
    return [_without_titles(value) for value in schema] if isinstance(schema, list) else schema
