import subprocess
import sys

from hypothesis import Phase, find, given, settings

from sgi.kernel.sample import Field, Sample
from sgi.testing.strategies import samples, texts


@given(texts())
def test_texts_can_be_written_as_utf8(text):
    assert text.encode("utf-8").decode("utf-8") == text


@settings(max_examples=50)
@given(samples(complete=True))
def test_complete_samples_have_every_field(sample):
    assert isinstance(sample, Sample)
    assert all(sample.has(field) for field in Field)


def test_samples_reach_the_odd_corners():
    for corner in (
        lambda sample: sample.model_fields_set == {"id"},
        lambda sample: len(sample.contexts) > 2,
        lambda sample: sample.has(Field.RESPONSE) and not sample.response,
        lambda sample: len(sample.references) > 1,
        lambda sample: sample.label is False,
    ):
        many = settings(phases=[Phase.generate], database=None, max_examples=1000)
        assert corner(find(samples(), corner, settings=many))


def test_without_hypothesis_there_is_a_clear_error_and_the_rest_works():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import sgi.testing\n"
        "from sgi.kernel.errors import UsageError\n"
        "try:\n    import sgi.testing.strategies\n"
        "except UsageError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "sgi.testing.strategies needs hypothesis. Install it: pip install hypothesis"
