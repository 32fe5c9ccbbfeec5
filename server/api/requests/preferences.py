"""The preferences of a request (RFC 7240)."""

from fastapi import Request

RESPOND_ASYNC = "respond-async"
APPLIED = {"Preference-Applied": RESPOND_ASYNC}


def prefers_async(request: Request) -> bool:
    """Whether the client wants an answer at once, and the result later. Preferences that are not known are ignored, as
    the RFC says."""
    preferences = ",".join(request.headers.getlist("prefer")).split(",")
    return any(
        preference.partition(";")[0].partition("=")[0].strip().lower() == RESPOND_ASYNC for preference in preferences
    )
