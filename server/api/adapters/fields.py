"""Fields that several adapters have."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from server.api.requests.fields import check_text

Text = Annotated[str, BeforeValidator(check_text)]
Texts = Annotated[list[str], BeforeValidator(check_text)]
Language = Annotated[str, BeforeValidator(check_text), Field(examples=["en"])]
