"""What notebooks do to the looks of their cells: JupyterLab's own style sheets, and those of VS Code's kind."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_LAB = Path(sys.prefix) / "share" / "jupyter" / "nbconvert" / "templates" / "lab" / "static"


@dataclass(frozen=True)
class Host:
    """Where a cell's output is shown. ``outside``: what the body has; ``classes``: what is around each output."""

    style: str
    outside: str
    classes: str
    dark: bool

    def page(self, shown: str) -> str:
        """A page that shows it as this host would."""
        head = "<!DOCTYPE html><html lang='en'><title>cell</title><meta charset='utf-8'><link rel='icon' href='data:,'>"
        body = f"<body {self.outside}><div class='{self.classes}' style='width: 900px'>{shown}</div></body></html>"
        return f"{head}<style>{self.style}</style>{body}"


def jupyterlab(dark: bool) -> Host:
    """JupyterLab in one of its themes; the sheets are those of the program."""
    names = ("index.css", f"theme-{'dark' if dark else 'light'}.css")
    style = "".join((_LAB / name).read_text(encoding="utf-8") for name in names)
    light = "false" if dark else "true"
    classes = "jp-RenderedHTMLCommon jp-RenderedHTML jp-OutputArea-output"
    return Host(style, f'data-jp-theme-light="{light}"', classes, dark)


def vs_code(look: str) -> Host:
    """VS Code in a kind of theme, as it names these to what it shows: the body has a class, and colours have names."""
    kind = "vscode-high-contrast vscode-high-contrast-light" if look == "vscode-high-contrast-light" else look
    values = {**_FONTS, **_COLOURS[look]}
    names = "".join(f"--vscode-{name}: {value};" for name, value in values.items())
    dark = look in {"vscode-dark", "vscode-high-contrast"}
    return Host(f":root {{ {names} }}{_OF_OUTPUTS}", f'class="{kind}" data-vscode-theme-kind="{look}"', "output", dark)


def nowhere(dark: bool) -> Host:
    """No program at all; dark where one would say so."""
    return Host("", 'data-jp-theme-light="false"' if dark else "", "", dark)


_FONTS: Mapping[str, str] = {
    "font-family": "system-ui, sans-serif",
    "font-size": "13px",
    "font-weight": "normal",
    "editor-font-family": "monospace",
    "editor-font-size": "14px",
}
_COLOURS: Mapping[str, Mapping[str, str]] = {
    "vscode-light": {
        "editor-background": "#ffffff",
        "editor-foreground": "#3b3b3b",
        "textLink-foreground": "#005fb8",
        "textPreformat-foreground": "#a31515",
        "textPreformat-background": "#e8e8e8",
        "list-hoverBackground": "#f0f0f0",
        "contrastBorder": "transparent",
    },
    "vscode-dark": {
        "editor-background": "#1f1f1f",
        "editor-foreground": "#cccccc",
        "textLink-foreground": "#4daafc",
        "textPreformat-foreground": "#d0d0d0",
        "textPreformat-background": "#3c3c3c",
        "list-hoverBackground": "#2a2d2e",
        "contrastBorder": "transparent",
    },
    "vscode-high-contrast": {
        "editor-background": "#000000",
        "editor-foreground": "#ffffff",
        "textLink-foreground": "#21a6ff",
        "textPreformat-foreground": "#000000",
        "textPreformat-background": "#ffffff",
        "list-hoverBackground": "#1a1a1a",
        "contrastBorder": "#6fc3df",
    },
    "vscode-high-contrast-light": {
        "editor-background": "#ffffff",
        "editor-foreground": "#292929",
        "textLink-foreground": "#0f4a85",
        "textPreformat-foreground": "#ffffff",
        "textPreformat-background": "#09345f",
        "list-hoverBackground": "#e6eef5",
        "contrastBorder": "#0f4a85",
    },
}
VS_CODE = tuple(_COLOURS)
# Harsher than what is known of the program: whatever a host may say of elements, it says here.
_OF_OUTPUTS = """
html { background: var(--vscode-editor-background); }
body { background: transparent; color: var(--vscode-editor-foreground); margin: 0; padding: 0 20px;
  font: var(--vscode-font-weight) var(--vscode-font-size)/normal var(--vscode-font-family); }
img, svg, video { max-width: 100%; max-height: 100%; }
.output a, .output a code { color: var(--vscode-textLink-foreground); text-decoration: none; }
.output code { color: var(--vscode-textPreformat-foreground); background: var(--vscode-textPreformat-background);
  font: var(--vscode-editor-font-size) var(--vscode-editor-font-family); padding: 1px 3px; border-radius: 4px; }
.output h1, .output h2, .output h3 { font-size: 26px; line-height: 31px; font-weight: normal; margin: 9px 0;
  padding-bottom: 4px; border-bottom: 1px solid var(--vscode-contrastBorder); }
.output p { line-height: 1.36em; margin: 13px 0; }
.output dl, .output dt, .output dd { margin: 6px 0 6px 40px; padding: 2px; }
.output table { border-collapse: collapse; border-spacing: 0; table-layout: fixed; font-size: 12px; }
.output table, .output thead, .output tr, .output th, .output td { text-align: right; vertical-align: middle;
  padding: 0.5em; border: 1px solid var(--vscode-contrastBorder); white-space: nowrap; line-height: normal; }
.output thead th { font-weight: bold; border-bottom: 1px solid; }
.output tbody tr:nth-child(odd), .output tr:hover { background: var(--vscode-list-hoverBackground); }
"""
