"""The site of the project's own pages: make docs. Paths are those of the repository, so that links work in both."""

import sys
from pathlib import Path

import dxgeom

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "dxgeom"
project_copyright = "the dxgeom founders"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "commands",
    "glossary",
    "landing",
    "languages",
    "rooms",
]
root_doc = "docs/index"
# Where the site begins, beside the folder of pages; its own text, as no page lies there.
templates_path = ["site"]
html_additional_pages = {"index": "landing.html"}
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**", "policies/*.md", "papers/**"]
# What a journal compiles; the site has the page made of it.
exclude_patterns = ["papers/dxgeom/paper.md"]
html_theme = "furo"
release = dxgeom.__version__
html_title = f"dxgeom {release}"
html_css_files, html_js_files = ["site.css"], [("copy.js", {"defer": "defer"})]
html_show_sphinx = False
html_copy_source = False
# Headings of three levels can be linked to, as they can where the repository is shown.
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
# Tables in CSV are shown as they are; what is written for shells and consoles is not always of their grammar.
suppress_warnings = ["misc.highlighting_failure"]
nitpicky = True

# Formulas are shown by a file of this site, not of another: make puts it into the environment.
html_static_path = ["site/static", str(Path(sys.prefix) / "share" / "mathjax" / "tex-svg.js")]
mathjax_path = "tex-svg.js"

# Notebooks are run anew, each in a folder of its own; one that fails is a failure of the site.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

# Signatures and types are those of the code. Types of other libraries, and those behind the doors, lead nowhere.
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
nitpick_ignore_regex = [("py:.*", ".*")]
