"""Error responses of the API."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

from sgi.io.column_names import NAMES
from sgi.kernel.errors import DataError, EmbedderError, SgiError
from sgi.kernel.raw_values import describe
from sgi.service.scorer import ScorerBusyError, ScorerClosedError
from sgi_web.pages import status_of
from sgi_web.site import site_of

_MAX_MESSAGE, _SHOWN = 500, 100
_EXPECTED = {
    "string_type": "text",
    "list_type": "a list",
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "int_type": "a whole number",
}
_MESSAGES = {
    "extra_forbidden": "unknown field",
    "missing": "required field is missing",
    "recursion_loop": "nested too deeply",
    "string_pattern_mismatch": "must not be blank",
}


def json_response(value: Any, status: int = 200, **headers: str) -> Response:
    r"""Return a value as JSON; lone surrogates, which UTF-8 cannot encode, are escaped.

    >>> json_response({"id": "\ud800"}).body
    b'{"id": "\\ud800"}'
    """
    try:
        body = orjson.dumps(value)
    except orjson.JSONEncodeError:  # a lone surrogate, or a number of more than 64 bits
        body = json.dumps(value, allow_nan=False).encode()
    return Response(body, status, headers, media_type="application/json")


def error_json(status: int, message: str, hint: str = "", **place: Any) -> Response:
    """Return an error as JSON: message, hint and, if known, row, id and field."""
    known = {name: value for name, value in place.items() if value is not None}
    headers = {"Retry-After": "1"} if status == 503 else {}  # noqa: PLR2004 - HTTP status
    return json_response({"error": {"message": message, "hint": hint, **known}}, status, **headers)


def error_response(error: SgiError, request: Request) -> Response:
    """Return the response for an error, without the location of the database."""
    message, hint = map(site_of(request).without_place, (error.message, error.hint))
    if isinstance(error, DataError):
        return error_json(422, message, hint, row=error.line, id=error.sample_id, field=error.field)
    unavailable = isinstance(error, (ScorerBusyError, ScorerClosedError, EmbedderError))
    return error_json(503 if unavailable else status_of(error), message, hint)


def body_error(error: ValidationError, body: Any) -> DataError:
    """Return the first validation error of a body in plain words, with row, id and field."""
    details = error.errors(include_url=False, include_context=False)
    place = details[0]["loc"]
    of_row = place[:1] == ("rows",) and len(place) > 1
    depth = 3 if of_row else 1
    of_field = [detail for detail in details if detail["loc"][:depth] == place[:depth]]
    # A field can have several types: report the error of the one that matches furthest.
    deepest = max(of_field, key=lambda detail: (len(detail["loc"]), detail["type"] not in _EXPECTED))
    name = place[depth - 1 : depth]
    row = int(place[1]) if of_row else None
    return DataError(
        _description(deepest, depth),
        line=None if row is None else row + 1,
        sample_id=None if row is None else _id_of(body["rows"][row]),
        field=str(name[0])[:_SHOWN] if name else None,
        hint=_field_name_hint(str(name[0]))
        if of_row and name and deepest["type"] == "extra_forbidden"
        else "",
    )


def _field_name_hint(name: str) -> str:
    """Suggest the API field for a column name that files may use."""
    fields = [field for field, names in NAMES.items() if name.casefold() in names]
    return f"Use the name {fields[0]}." if fields else ""


def _description(error: ErrorDetails, depth: int) -> str:
    """Return the text of one validation error."""
    kind = error["type"]
    text = _MESSAGES.get(kind) or error["msg"][0].lower() + error["msg"][1:]
    if kind in _EXPECTED:
        text = f"expected {_EXPECTED[kind]}, found {describe(error['input'])}"
    below = error["loc"][depth:]
    return f"text {below[-1] + 1}: {text}" if below and isinstance(below[-1], int) else text


class JsonErrorRoute(APIRoute):
    """Route that returns all errors as JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the handler so that its exceptions become responses."""
        handle = super().get_route_handler()

        async def handle_errors(request: Request) -> Response:
            try:
                return await handle(request)
            except SgiError as error:
                return error_response(error, request)
            except RequestValidationError as error:
                return _parameter_error(error)
            except HTTPException as error:
                return error_json(error.status_code, str(error.detail))

        return handle_errors


def _parameter_error(error: RequestValidationError) -> Response:
    first = error.errors()[0]
    name = str(first["loc"][-1])[:_SHOWN]
    return error_json(422, f"{name}: {first['msg'][0].lower()}{first['msg'][1:]}"[:_MAX_MESSAGE], field=name)


def _id_of(row: Any) -> str | None:
    name = row.get("id") if isinstance(row, dict) else None
    return str(name)[:_SHOWN] if isinstance(name, (str, int)) and not isinstance(name, bool) else None
