"""Save and delete filters of rows."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Form
from pydantic import ValidationError
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.kernel.errors import UsageError
from sgi.kernel.json_shapes import first_problem
from sgi.store.saved_filters import delete_filter, save_filter
from sgi_web.pages import redirect, run_or_404
from sgi_web.paths import run_path, with_query
from sgi_web.row_parameters import PageParameters
from sgi_web.security import check_form
from sgi_web.site import site_of
from sgi_web.users import Role, record_action, require_role

router = APIRouter(
    include_in_schema=False, dependencies=[Depends(require_role(Role.EDITOR)), Depends(check_form)]
)
Text = Annotated[str, Form()]
_MAX_PARAMETERS = 1000


@router.post("/runs/{run}/filters")
def save(request: Request, run: str, name: Text = "", filters: Text = "") -> Response:
    """Save the filters of the page under a name, for all runs whose data has the same name."""
    site = site_of(request)
    record = run_or_404(site, run)
    checked = _checked(filters)
    query = with_query("", checked).removeprefix("?")
    with site.database.transaction() as database:
        save_filter(database, record.dataset_name, name, query)
        record_action(request, "save filter", record.dataset_name, f"{name}: {query}", database=database)
    return redirect(with_query(run_path(record.id), checked) + "#rows-title")


@router.post("/runs/{run}/filters/delete")
def delete(request: Request, run: str, name: Text = "") -> Response:
    """Delete a saved filter."""
    site = site_of(request)
    record = run_or_404(site, run)
    with site.database.transaction() as database:
        if delete_filter(database, record.dataset_name, name):
            record_action(request, "delete filter", record.dataset_name, name, database=database)
    return redirect(run_path(record.id) + "#rows-title")


def _checked(query: str) -> dict[str, object]:
    """Read a query string as the page does, so that only its parameters are stored."""
    try:
        parsed = parse_qs(query, max_num_fields=_MAX_PARAMETERS)
        values = {name: texts if name == "columns" else texts[-1] for name, texts in parsed.items()}
        return PageParameters.model_validate(values).filters()
    except ValidationError as error:
        raise UsageError(f"This is not a filter: {first_problem(error)}.") from error
    except ValueError as error:
        raise UsageError(f"This is not a filter: it has more than {_MAX_PARAMETERS} parameters.") from error
