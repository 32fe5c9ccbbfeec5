"""A hook of schemathesis: of made-up bodies every other one names the pair of languages that is served. By chance
hardly a body names languages that a server has, and little was translated or scored."""

from typing import Any

import schemathesis

COMPUTED = ("/v1/translate", "/v1/score")


@schemathesis.hook
def map_body(context: schemathesis.HookContext, body: Any) -> Any:
    is_computed = context.operation is not None and context.operation.path in COMPUTED
    if is_computed and isinstance(body, dict) and len(repr(body)) % 2:
        return {**body, "source": "en", "target": "de"}
    return body
