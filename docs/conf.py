"""The site of the project's own pages: make docs. Paths are those of the repository, so that links work in both."""

project = "dxgeom"
project_copyright = "the dxgeom founders"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**", "policies/*.md", "papers/**"]
html_theme = "furo"
html_title = "dxgeom"
html_show_sphinx = False
# Headings of three levels can be linked to, as they can where the repository is shown.
myst_heading_anchors = 3
html_copy_source = False
# Tables in CSV are shown as they are.
suppress_warnings = ["misc.highlighting_failure"]
nitpicky = True
