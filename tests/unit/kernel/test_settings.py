"""Errors of settings name the setting, without its value."""

from __future__ import annotations

from typing import ClassVar

import pytest
from pydantic import BaseModel, Field, field_validator

from sgi.kernel.environment import Settings
from sgi.kernel.errors import UnknownNameError, UsageError


class Lid(BaseModel):
    colors: list[int] = []


class Box(Settings):
    owner: ClassVar[str] = "box"

    size: int = Field(1, ge=1)
    lid: Lid = Lid()
    label: str = ""

    @field_validator("label")
    @classmethod
    def _check_label(cls, label):
        if label == "void":
            raise ValueError("No box has this label")
        return label

    def check_combination(self):
        if self.size == 13 and self.label:
            raise UsageError("A box of size 13 has no label.")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"size": 0}, "The box's size: input should be greater than or equal to 1."),
        ({"lid": {"colors": [1, "secret-1"]}}, "The box's lid.colors.1: input should be a valid integer"),
        ({"label": "void"}, "The box's label: no box has this label."),
        ({"size": 13, "label": "thirteen"}, "A box of size 13 has no label."),
    ],
)
def test_an_error_names_the_setting_and_not_its_value(values, message):
    with pytest.raises(UsageError) as caught:
        Box(**values)
    assert type(caught.value) is UsageError
    assert str(caught.value).startswith(message)
    assert "secret-1" not in str(caught.value)
    assert caught.value.__context__ is None  # pydantic's error shows the value


def test_values_that_are_not_a_mapping_have_no_setting_to_name():
    with pytest.raises(UsageError):
        Box.model_validate("secret-1")


def test_an_unknown_setting_is_named_with_similar_settings():
    with pytest.raises(UnknownNameError) as caught:
        Box(sise=3)
    assert (
        str(caught.value) == "Unknown setting of a box 'sise'. Did you mean 'size'? It has: size, lid, label."
    )
