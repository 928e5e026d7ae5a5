from sgi.reporting.html_page import vega_bundle
from support.scripts import load_script


def test_the_committed_bundle_is_the_one_of_the_pinned_package():
    with load_script("make_vega_bundle") as script:
        assert vega_bundle() == script.bundle()
