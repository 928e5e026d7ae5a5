"""What is wrong with settings is told by name and place, without the value."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.settings import refusal


class Lid(BaseModel):
    colors: list[int] = []


class Box(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: int = Field(1, ge=1)
    lid: Lid = Lid()

    @model_validator(mode="after")
    def _fits(self):
        if self.size == 13:
            raise ValueError("Nobody makes this one")
        return self


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"size": 0}, "The box's size: input should be greater than or equal to 1."),
        ({"lid": {"colors": [1, "secret-1"]}}, "The box's lid.colors.1: input should be a valid integer"),
        ({"size": 13}, "The box: nobody makes this one."),
    ],
)
def test_the_first_fault_is_told_with_its_place(values, told):
    with pytest.raises(ValidationError) as caught:
        Box(**values)
    error = refusal(caught.value, "box", Box.model_fields)
    assert type(error) is UsageError
    assert str(error).startswith(told)
    assert "secret-1" not in str(error)


def test_a_setting_there_is_not_is_told_with_those_that_come_near():
    with pytest.raises(ValidationError) as caught:
        Box(sise=3)
    error = refusal(caught.value, "box", Box.model_fields)
    assert isinstance(error, UnknownNameError)
    assert str(error) == "Unknown setting of a box 'sise'. Did you mean 'size'? It has: size, lid."
