"""Write the chart script for browsers: Vega, Vega-Lite and Vega-Embed in one file.

The sources come from vl-convert-python. Run the script again after an upgrade of that package.

    python scripts/make_vega_bundle.py
"""

from __future__ import annotations

import gzip
from pathlib import Path

import vl_convert

FILE = Path(__file__).parents[1] / "src" / "sgi" / "reporting" / "assets" / "vega.js.gz"
_LICENCE = (
    "/* Vega, Vega-Lite and Vega-Embed: copyright University of Washington Interactive Data Lab and"
    " contributors, BSD 3-Clause licence; https://vega.github.io */\n"
)
_EXPORTS = "Object.assign(window, { vega, vegaLite, vegaEmbed });"


def bundle() -> str:
    """Return a classic script that sets only ``vega``, ``vegaLite`` and ``vegaEmbed`` in ``window``."""
    return f"{_LICENCE}(() => {{\n{vl_convert.javascript_bundle(_EXPORTS)}\n}})();\n"


if __name__ == "__main__":
    FILE.write_bytes(gzip.compress(bundle().encode(), mtime=0))
