"""The packages as a drawing (SVG): each with its folders, an arrow from a package to what it imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from xml.sax.saxutils import escape

_WIDTH, _GAP, _ROW_GAP, _LINE, _MARGIN = 168, 16, 56, 15, 20
_INK, _FILL, _LINK = '#24485e', '#eef4f7', '#7d97a6'


def needed(imports: Mapping[str, Set[str]], package: str) -> set[str]:
    """Return what a package imports and does not get through another one already."""
    direct = imports[package]
    return {name for name in direct if not any(name in imports[other] for other in direct)}


def layers(imports: Mapping[str, Set[str]]) -> list[list[str]]:
    """Return the packages in rows, each as low as what it imports allows; the lowest row first."""
    depth: dict[str, int] = {}
    while len(depth) < len(imports):
        ready = [p for p in imports if p not in depth and imports[p] <= depth.keys()]
        if not ready:
            raise ValueError(
                f'packages import each other in a circle: {set(imports) - set(depth)}'
            )
        depth |= {p: 1 + max((depth[other] for other in imports[p]), default=-1) for p in ready}
    return [[p for p in imports if depth[p] == row] for row in range(max(depth.values()) + 1)]


def drawing(imports: Mapping[str, Set[str]], folders: Mapping[str, Sequence[str]]) -> str:
    """Return the drawing.

    Args:
        imports: What each package may import, all of it; without circles.
        folders: Names of each package's folders.
    """
    rows = layers(imports)[::-1]
    width = max(len(row) for row in rows) * (_WIDTH + _GAP) - _GAP + 2 * _MARGIN
    place: dict[str, tuple[int, int, int]] = {}  # left, top and height of each box
    top = _MARGIN
    for row in rows:
        left = (width - len(row) * (_WIDTH + _GAP) + _GAP) // 2
        heights = [36 + _LINE * len(folders[package]) for package in row]
        for i, package in enumerate(row):
            place[package] = (left + i * (_WIDTH + _GAP), top, heights[i])
        top += max(heights) + _ROW_GAP
    height = top - _ROW_GAP + _MARGIN
    arrows = [
        _arrow(place[p], place[other]) for p in imports for other in sorted(needed(imports, p))
    ]
    boxes = [_box(p, place[p], folders[p]) for p in imports]
    return '\n'.join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" role="img" aria-label="Packages and what they import">',
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="{_LINK}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<g stroke="{_LINK}" stroke-width="1.5" marker-end="url(#head)">',
            *arrows,
            '</g>',
            *boxes,
            '</svg>',
        ]
    )


def _arrow(start: tuple[int, int, int], end: tuple[int, int, int]) -> str:
    middle = _WIDTH // 2
    return (
        f'<path d="M{start[0] + middle} {start[1] + start[2]} L{end[0] + middle} {end[1] - 2}"/>'
    )


def _box(package: str, place: tuple[int, int, int], folders: Sequence[str]) -> str:
    left, top, height = place
    lines = [
        f'<text x="{left + 10}" y="{top + 40 + _LINE * i}" font-size="12" fill="{_INK}">'
        f'{escape(folder)}/</text>'
        for i, folder in enumerate(folders)
    ]
    return '\n'.join(
        [
            f'<rect x="{left}" y="{top}" width="{_WIDTH}" height="{height}" rx="6" '
            f'fill="{_FILL}" stroke="{_INK}"/>',
            f'<text x="{left + 10}" y="{top + 21}" font-size="13" font-weight="bold" fill="{_INK}">'
            f'{escape(package)}</text>',
            *lines,
        ]
    )
