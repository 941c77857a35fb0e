"""How results look in a notebook: the answer in bold, the details below it."""

from __future__ import annotations

from html import escape

_COLOURS = {
    "VIOLATED": "#c0392b",
    "EXACT": "#2e7d32",
    "PROVED": "#2e7d32",
    "UNSETTLED": "#b7791f",
}


def as_html(text: str) -> str:
    """Plain text with its answer in the first line, as HTML that needs no style sheet."""
    first, _, rest = text.partition("\n")
    word = first.split(":", 1)[0]
    colour = _COLOURS.get(word, "inherit")
    body = (
        f'<details><summary>details</summary><pre style="white-space:pre-wrap">{escape(rest)}'
        "</pre></details>"
        if rest.strip()
        else ""
    )
    return f'<div><p style="color:{colour};font-weight:bold">{escape(first)}</p>{body}</div>'
