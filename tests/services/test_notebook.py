"""A notebook in a real kernel: from a policy to a release, everything shown."""

from __future__ import annotations

import pytest
from reference.project import POLICIES
from services.notebook_cells import CELLS


@pytest.mark.service("notebook")
def test_a_notebook_runs_from_a_policy_to_a_release(tmp_path):
    import nbformat
    from nbconvert.preprocessors import ExecutePreprocessor

    cells = [nbformat.v4.new_code_cell(text.replace("{folder!r}", repr(str(POLICIES / "clinic")))) for text in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    ExecutePreprocessor(timeout=120, kernel_name="python3").preprocess(notebook, {"metadata": {"path": str(tmp_path)}})
    shown = [
        [output.get("data", {}) for output in cell.outputs if output.output_type != "stream"] for cell in notebook.cells
    ]
    for place in (1, 2, 3, 5, 6):
        assert any('class="dxgeom part"' in data.get("text/html", "") for data in shown[place]), place
        assert any(data.get("text/plain", "").startswith("<") for data in shown[place]), place
    assert any(data.get("text/plain", "").startswith("planning: ") for data in shown[3])
    assert any("image/png" in data for data in shown[4])
