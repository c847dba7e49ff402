# SPDX-License-Identifier: MIT
"""How Sphinx builds the manual; tools/build/docs runs it."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "sphinx"))

project = "neuron-emu"
author = "the neuron-emu project"
version = re.search(r"version: '([^']+)'", (HERE.parent / "meson.build").read_text())[1]
release = version

extensions = ["sources", "sequence"]
exclude_patterns = ["sphinx", "static", "drawings", "examples"]
highlight_language = "none"
smartquotes = False

# Every reference must lead somewhere, but for the types in kernel-doc: they are the kernel's.
nitpicky = True
nitpick_ignore_regex = [("c:.*", ".*")]

html_theme = "alabaster"
html_title = f"neuron-emu {version}"
html_static_path = ["static"]
html_css_files = ["manual.css"]
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_theme_options = {
    "description": "An open virtual AWS Trainium",
    "fixed_sidebar": True,
    "page_width": "1180px",
    "sidebar_width": "250px",
    "body_max_width": "none",
    "sidebar_collapse": True,
    "show_powered_by": False,
}


def man_page(path):
    """The entry of man_pages for one page: its second line has the form "name - summary"."""
    title = next(line for line in path.read_text().splitlines() if " - " in line)
    name, summary = title.split(" - ", 1)
    section = 1 if path.stem.startswith(("neuron-", "nccom-")) else 3
    return f"man/{path.stem}", name.strip(), summary.strip(), [], section


# neuron-vm writes its man page itself.
man_pages = [man_page(path) for path in sorted((HERE / "man").glob("n*.rst"))
             if path.stem != "neuron-vm"]
