"""The JSON of API keys and of what they have used."""

from dataclasses import asdict
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from server.keys.key import Key, Origin
from server.keys.record import KeyLimits, KeyRecord, Scope, sorted_scopes
from server.keys.usage import Used

MOST = 10**15
DAY = 86400.0
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=64, examples=["shop"])]


class Limits(BaseModel):
    """null: no limit."""

    model_config = ConfigDict(strict=True, extra="forbid")

    concurrency: int | None = Field(default=None, ge=1, le=MOST, description="Requests at a time, at each server.")
    rate: float | None = Field(
        default=None, ge=1e-6, le=1e6, description="Requests per second, twice as many in a burst, at each server."
    )
    chars_per_day: int | None = Field(default=None, ge=1, le=MOST, description="Characters of texts, each day of UTC.")
    chars_per_month: int | None = Field(
        default=None, ge=1, le=MOST, description="Characters of texts, each month of UTC."
    )


class NewKey(BaseModel):
    """`POST /v1/keys`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: Name = Field(description="The owner of its documents and glossaries.")
    scopes: list[Scope] = Field(["translate", "documents"], min_length=1, max_length=10)
    limits: Limits = Field(default_factory=Limits)
    expires: float | None = Field(
        None, gt=0, lt=253_402_300_800, allow_inf_nan=False, description="Seconds since 1970; null: never."
    )


class KeyChange(BaseModel):
    """`PATCH /v1/keys/{name}`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    limits: Limits = Field(description="Those that are given change, null: no limit; the others stay.")


class Rotation(BaseModel):
    """`POST /v1/keys/{name}/rotate`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    keep_seconds: float = Field(
        DAY, ge=0, le=366 * DAY, allow_inf_nan=False, description="For how long the present secrets are still accepted."
    )


class ListedKey(BaseModel):
    """A key without its secrets."""

    name: str
    scopes: list[Scope]
    origin: Origin = Field(
        description="`settings` and `file`: listed in --api-keys, and changed there; `store`: can be changed here."
    )
    limits: Limits
    secrets: int = Field(description="How many are accepted, those that have expired included.")
    created: float | None = Field(None, description="Seconds since 1970; null if it is not known.")
    expires: float | None = Field(None, description="When its last secret expires, in seconds since 1970; null: never.")

    @classmethod
    def of(cls, record: KeyRecord, origin: Origin) -> Self:
        return cls(
            name=record.name,
            scopes=sorted_scopes(record.scopes),
            origin=origin,
            limits=Limits.model_validate(asdict(record.limits)),
            secrets=len(record.secrets),
            created=record.created,
            expires=record.expires,
        )


class KeyWithSecret(ListedKey):
    """A key with its new secret, which is shown this once."""

    secret: str = Field("", examples=["ringmt-..."])


class KeyList(BaseModel):
    """A page of keys, by name."""

    keys: list[ListedKey]
    next: str | None = Field(description="`after` of the next page; null on the last.")

    @classmethod
    def of(cls, keys: list[Key], limit: int) -> Self:
        shown = [ListedKey.of(key.record, key.origin) for key in keys[:limit]]
        return cls(keys=shown, next=shown[-1].name if len(keys) > limit else None)


class PeriodUsage(BaseModel):
    characters: int
    limit: int | None = Field(description="null: none.")


class KeyUsage(BaseModel):
    """What the key of a name has used."""

    name: str = Field(description="Empty on a server without keys.")
    day: PeriodUsage
    month: PeriodUsage

    @classmethod
    def of(cls, name: str, used: Used, limits: KeyLimits) -> Self:
        return cls(
            name=name,
            day=PeriodUsage(characters=used.day, limit=limits.chars_per_day),
            month=PeriodUsage(characters=used.month, limit=limits.chars_per_month),
        )


class UsagePeriod(BaseModel):
    name: str = Field(description="In UTC.", examples=["2026-11-26"])
    ends: int = Field(description="Seconds since 1970.")


class UsageAnswer(BaseModel):
    """Characters of texts that were accepted for translation in the present day and month."""

    day: UsagePeriod
    month: UsagePeriod
    keys: list[KeyUsage] = Field(description="The key that asks; for the scope `admin` all keys, by name.")
    next: str | None = Field(description="`after` of the next page; null on the last.")
