"""Pages of the site that are made when it is built (a hook of mkdocs, see mkdocs.yml).

The README becomes the first page; docstrings and the help of the commands become a reference; the
gallery has reports that are computed now.
"""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]
# How paths of the repository are called on the site.
RENAMED = {"ARCHITECTURE.md": "architecture.md", "CHANGELOG.md": "changelog.md"}


def on_files(files: Any, config: Any) -> Any:
    """Add what is made to what is there."""
    from mkdocs.structure.files import File

    for name, text in pages():
        files.append(File.generated(config, name, content=text))
    return files


def pages() -> Iterator[tuple[str, str]]:
    yield "index.md", site_links((ROOT / "README.md").read_text(encoding="utf-8"))
    for source, name in RENAMED.items():
        yield name, site_links((ROOT / source).read_text(encoding="utf-8"))
    yield "docstrings.md", docstrings()
    yield "command-line.md", command_line()
    yield from gallery()


def site_links(text: str) -> str:
    """Links of a document at the root, as they are seen from the site's folder."""
    text = re.sub(r"\]\(docs/", "](", text)
    for source, name in RENAMED.items():
        text = text.replace(f"]({source}", f"]({name}")
    return text


def on_post_build(config: Any) -> None:
    """Every link of the built site leads somewhere, also those that mkdocs doesn't look at."""
    from mkdocs.exceptions import BuildError

    broken = broken_links(Path(config["site_dir"]))
    if broken:
        raise BuildError("links that lead nowhere:\n  " + "\n  ".join(broken))


def broken_links(site: Path) -> list[str]:
    """"page: link" for each link of a folder of HTML to a file or an anchor that isn't there."""
    texts = {path.resolve(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    anchors = {path: set(re.findall(r'\sid="([^"]+)"', text)) for path, text in texts.items()}
    found = []
    for path, text in texts.items():
        if path.name == "404.html":  # served from any folder
            continue
        for link in re.findall(r'\s(?:href|src)="([^"]+)"', text):
            if re.match(r"[a-z]+:|//", link):
                continue
            name, _, anchor = unescape(link).partition("#")
            target = (path.parent / unquote(name)).resolve() if name else path
            known = anchor in ("", "__top") or anchor in anchors.get(target, {anchor})
            if not target.exists() or not known:
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return sorted(set(found))


# Reference -------------------------------------------------------------------------------------


def docstrings() -> str:
    """Every public function and class: its signature and what its docstring says."""
    import dpest

    lines = ["# Reference from docstrings", ""]
    for name in sorted(dpest.__all__, key=str.lower):
        value = getattr(dpest, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            lines += entry(f"dpest.{name}", value)
            if inspect.isclass(value):
                for member, method in methods(value):
                    lines += entry(f"{name}.{member}", method, "###")
        elif inspect.ismodule(value):
            lines += [f"## `dpest.{name}`", "", prose(inspect.getdoc(value) or ""), ""]
    return "\n".join(lines)


def entry(name: str, value: Any, heading: str = "##") -> list[str]:
    told = value.fget if isinstance(value, property) else value
    shown = [] if isinstance(value, property) else [f"```py\n{name}{signature(value)}\n```", ""]
    return [f"{heading} `{name}`", "", *shown, prose(inspect.getdoc(told) or ""), ""]


def signature(value: Callable[..., Any]) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(…)"
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "self"]
    return str(found.replace(parameters=plain, return_annotation=found.empty))


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(kind).items():
        public = not name.startswith("_") and (inspect.isfunction(value) or is_property(value))
        told = value.fget if isinstance(value, property) else value
        if public and inspect.getdoc(told):
            yield name, value


def is_property(value: Any) -> bool:
    return isinstance(value, property)


def prose(text: str) -> str:
    """A docstring as Markdown: its examples in blocks, its signs as they are."""
    parts = re.split(r"(^>>> (?:.*\n?)+?(?=\n|\Z))", text, flags=re.M)
    made = [f"```py\n{p.rstrip()}\n```" if p.startswith(">>>") else escaped(p) for p in parts]
    return "\n".join(made)


def escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("[", "\\[").replace("*", "\\*")


def command_line() -> str:
    """What each command says with --help."""
    import click

    from dpest.cli import COMMANDS, dpest

    lines = ["# Command line", ""]
    for name in COMMANDS:
        command = dpest.get_command(click.Context(dpest), name)
        context = click.Context(command, info_name=f"dpest {name}", max_content_width=96)
        lines += [f"## dpest {name}", "", f"```text\n{command.get_help(context)}\n```", ""]
    return "\n".join(lines)


# Gallery ---------------------------------------------------------------------------------------


def gallery() -> Iterator[tuple[str, str]]:
    """Reports of well-known mechanisms and of the examples, as `dpest audit --html` writes them."""
    lines = [
        "# Gallery of reports",
        "",
        "Each is one page, as `dpest audit … --html` writes it, computed when this site was built.",
        "",
        "| report | what it shows |",
        "| --- | --- |",
    ]
    for name, about, make in exhibits():
        lines.append(f"| [{name}]({name}.html) | {about} |")
        yield f"gallery/{name}.html", make()
    yield "gallery/index.md", "\n".join([*lines, ""])


def exhibits() -> list[tuple[str, str, Callable[[], str]]]:
    import dpest
    from dpest.report.page import part_of, render_several

    def zoo(name: str, **question: Any) -> Any:
        return dpest.audit(dpest.zoo.get(name), **question)

    def example(path: str, name: str) -> Any:
        return dpest.audit(runpy.run_path(str(ROOT / "examples" / path))[name])

    def several() -> str:
        names = ("SVT1", "SVT5", "LaplaceMechanism", "RandomizedResponse")
        return render_several([part_of(zoo(name)) for name in names])

    return [
        (
            "sparse-vector",
            "A published misprint of the sparse vector technique: violated, with a demonstration.",
            lambda: zoo("SVT5").to_html(),
        ),
        (
            "sparse-vector-right",
            "The sparse vector technique done right: both bounds meet, for every length.",
            lambda: zoo("SVT1").to_html(),
        ),
        (
            "growth",
            "A variant whose loss grows with the number of queries.",
            lambda: zoo("SVT6", length=range(1, 5)).to_html(),
        ),
        (
            "black-box",
            "Code that can only be run: a lower bound, a demonstration, no upper bound.",
            lambda: example("violating/black_box.py", "black_box").to_html(),
        ),
        (
            "survey",
            "Randomised answers of any number of people: proved.",
            lambda: example("private/survey.py", "survey").to_html(),
        ),
        ("several", "Several mechanisms on one page, the worst first.", several),
    ]


importlib.import_module("dpest")  # an environment without it should say so before anything is built
