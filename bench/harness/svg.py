"""Charts as SVG, without anybody's help. They follow the reader's light or dark scheme, and name every figure in text, so that
nothing is told by colour alone."""

from html import escape
from math import log10

_WIDTH, _LEFT, _RIGHT, _BAR, _STEP, _TOP = 760, 150, 145, 18, 30, 64
_STYLE = """
  .page { fill: #ffffff } .text { fill: #1f2328 } .quiet { fill: #59636e } .grid { stroke: #d1d9e0 }
  .ours { fill: #0969da } .ours2 { fill: #80b8f5 } .peer { fill: #6e7781 } .peer2 { fill: #b7bec6 }
  .floor { fill: #b08800 } .floor2 { fill: #e3cf8f } .link { stroke: #8c959f }
  text { font: 13px system-ui, sans-serif } .title { font-weight: 600; font-size: 15px }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #30363d }
    .ours { fill: #4493f8 } .ours2 { fill: #1f5fae } .peer { fill: #9198a1 } .peer2 { fill: #565d66 }
    .floor { fill: #d29922 } .floor2 { fill: #7d5f1a } .link { stroke: #656c76 }
  }
"""


def _page(title, caption, height, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
            f'role="img" aria-label="{escape(title)}">\n<style>{_STYLE}</style>\n'
            f'<rect class="page" width="{_WIDTH}" height="{height}" rx="6"/>\n'
            f'<text class="text title" x="16" y="26">{escape(title)}</text>\n'
            f'<text class="quiet" x="16" y="46">{escape(caption)}</text>\n' + "\n".join(body) + "\n</svg>\n")


def _label(text, row, style="text"):
    return f'<text class="{style}" x="{_LEFT - 10}" y="{row + 14}" text-anchor="end">{escape(text)}</text>'


def bars(title, caption, lines):
    """`lines`: [(name, kind, [parts], text)]: parts are stacked from the left, the second one paler."""
    most = max(sum(parts) for _, _, parts, _ in lines)
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    body = []
    for at, (name, kind, parts, text) in enumerate(lines):
        row, x = _TOP + at * _STEP, _LEFT
        body.append(_label(name, row))
        for index, part in enumerate(parts):
            width = max(part * scale, 0.5)
            body.append(f'<rect class="{kind}{"2" if index else ""}" x="{x:.1f}" y="{row}" width="{width:.1f}" '
                        f'height="{_BAR}"/>')
            x += width
        body.append(f'<text class="text" x="{x + 8:.1f}" y="{row + 14}">{escape(text)}</text>')
    return _page(title, caption, _TOP + len(lines) * _STEP + 8, body)


def ranges(title, caption, lines, ticks):
    """`lines`: [(name, kind, low, high, text)] on a logarithmic axis: a dot for each, and a line between them."""
    least, most = log10(min(ticks)[0]), log10(max(ticks)[0])
    span = _WIDTH - _LEFT - _RIGHT

    def place(value):
        return _LEFT + span * (min(max(log10(value), least), most) - least) / (most - least)

    bottom = _TOP + len(lines) * _STEP
    body = []
    for value, text in ticks:
        x = place(value)
        body.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{bottom}"/>')
        body.append(f'<text class="quiet" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{escape(text)}</text>')
    for at, (name, kind, low, high, text) in enumerate(lines):
        row = _TOP + at * _STEP
        y, a, b = row + _BAR / 2, place(low), place(high)
        body.append(_label(name, row))
        body.append(f'<line class="link" stroke-width="3" x1="{a:.1f}" x2="{b:.1f}" y1="{y}" y2="{y}"/>')
        body.append(f'<circle class="{kind}2" cx="{a:.1f}" cy="{y}" r="5"/><circle class="{kind}" cx="{b:.1f}" cy="{y}" r="6"/>')
        body.append(f'<text class="text" x="{_WIDTH - _RIGHT + 12}" y="{row + 14}">{escape(text)}</text>')
    return _page(title, caption, bottom + 28, body)
