"""What goes wrong where pages are drawn: words over words or outside of their picture, digits cut, weak contrast."""

from __future__ import annotations

from pathlib import Path

from services.browser import Browser

LAYOUT = """
const found = [];
for (const picture of document.querySelectorAll('svg.scene')) {
  const box = picture.getBoundingClientRect();
  if (!box.width) continue;
  const texts = [...picture.querySelectorAll('text')].map(one => [one.textContent, one.getBoundingClientRect()]);
  for (const [words, one] of texts)
    if (one.left < box.left - 1 || one.right > box.right + 1 || one.top < box.top - 1 || one.bottom > box.bottom + 1)
      found.push('outside: ' + words);
  for (const line of picture.querySelectorAll('path')) {
    const one = line.getBoundingClientRect();
    if (one.left < box.left - 2 || one.right > box.right + 2 || one.top < box.top - 2 || one.bottom > box.bottom + 2)
      found.push('a line leaves the picture');
  }
  for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length; j++) {
    const [one, other] = [texts[i][1], texts[j][1]];
    const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (wide > 1 && high > 5) found.push('over each other: ' + texts[i][0] + ' | ' + texts[j][0]);
  }
}
for (const picture of document.querySelectorAll('svg.scene')) {
  if (!picture.getBoundingClientRect().width) continue;
  const boxes = [...picture.querySelectorAll('text')].map(one => [one.textContent, one.getBBox()]);
  for (const line of picture.querySelectorAll('path[stroke-dasharray]')) {
    const long = line.getTotalLength();
    for (let at = 0; at < long; at += 3) {
      const spot = line.getPointAtLength(at);
      const on = boxes.find(([, box]) => box.x + 2 < spot.x && spot.x < box.x + box.width - 2 &&
        box.y + 3 < spot.y && spot.y < box.y + box.height - 3);
      if (on) { found.push('a line over: ' + on[0]); break; }
    }
  }
}
const blocks = ':is(h1, h2, h3, p, dt, dd, th, td, .badge, .gauge, figcaption)';
for (const one of document.querySelectorAll('.dxgeom ' + blocks))
  if (one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline' && one.clientWidth)
    found.push('cut: ' + one.textContent);
for (const one of document.querySelectorAll('.dxgeom .scroll'))
  if (one.scrollWidth > one.clientWidth + 1) found.push('cut table: ' + one.getAttribute('aria-label'));
const heads = [...document.querySelectorAll('.dxgeom h1, .dxgeom h2, .dxgeom h3, .dxgeom p, .dxgeom dt, .dxgeom dd')];
const boxes = heads.filter(one => one.offsetHeight).map(one => [one, one.getBoundingClientRect()]);
for (let i = 0; i + 1 < boxes.length; i++) {
  const [one, other] = [boxes[i][1], boxes[i + 1][1]];
  const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  if (wide > 1 && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 1)
    found.push('overprinted: ' + boxes[i][0].textContent + ' | ' + boxes[i + 1][0].textContent);
}
return found;
"""
"""Runs in the page; says what it found, nothing where all is well."""

CONTRAST = """
const found = [];
const number = colour => (colour.match(/[0-9.]+/g) || []).map(Number);
const light = colour => {
  const [r, g, b] = number(colour).map(one => one / 255).map(
    one => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const over = (top, share, below) => {
  const [one, other] = [number(top), number(below)];
  return 'rgb(' + [0, 1, 2].map(k => share * one[k] + (1 - share) * other[k]).join(',') + ')';
};
const ground = one => {
  if (!one) return 'rgb(255, 255, 255)';
  const painted = getComputedStyle(one).backgroundColor;
  return painted === 'rgba(0, 0, 0, 0)' ? ground(one.parentElement) : painted;
};
for (const picture of document.querySelectorAll('svg.scene')) {
  if (!picture.getBoundingClientRect().width) continue;
  const areas = [...picture.querySelectorAll('path.area')];
  for (const text of picture.querySelectorAll('text')) {
    const box = text.getBoundingClientRect();
    let below = ground(picture);
    for (const area of areas) {
      const style = getComputedStyle(area), place = area.getBoundingClientRect();
      const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
      if (place.left <= x && x <= place.right && place.top <= y && y <= place.bottom)
        below = over(style.fill, Number(style.fillOpacity), below);
    }
    const [one, other] = [light(getComputedStyle(text).fill), light(below)];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found.push(text.textContent + ': ' + contrast.toFixed(2));
  }
}
for (const one of document.querySelectorAll('.dxgeom *:not(svg, svg *, style)')) {
  const words = [...one.childNodes].filter(each => each.nodeType === 3).map(each => each.textContent.trim()).join('');
  if (!words || !one.getBoundingClientRect().width) continue;
  if (getComputedStyle(one).color === 'rgba(0, 0, 0, 0)') continue;  // marks below words that are written over them
  const [text, below] = [light(getComputedStyle(one).color), light(ground(one))];
  const contrast = (Math.max(text, below) + 0.05) / (Math.min(text, below) + 0.05);
  if (contrast < 4.5) found.push(words + ': ' + contrast.toFixed(2));
}
return found;
"""
"""Words on what lies below them, and those of pictures on what lies below their middle; at least 4.5 to 1."""


DEAD = (
    "return [...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href')).filter("
    "href => !href.startsWith('#') || !document.getElementById(href.slice(1)))"
)


def sound(browser: Browser, page: Path) -> None:
    """Nothing was said, nothing was asked for, every link leads somewhere, nobody is kept out."""
    assert browser.messages() == []
    assert [one for one in browser.requests() if one != page.as_uri() and not one.startswith("data:")] == []
    assert browser.ask(DEAD) == []
    assert browser.ask("return document.scripts.length") == 0
    assert browser.grave_faults() == []
