// Who is near whom: a line, a map or a graph whose places are picked; detours lit.

import { ask, fill, make } from './talk.js';
import { reason } from './compare.js';

const SVG = 'http://www.w3.org/2000/svg', WIDE = 640, TALL = 420, EDGE = 60, LETTER = 7.5, LONGEST = 24;

function draw(name, attributes, words) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (words !== undefined) made.textContent = words;
  return made;
}

export function nearness(studio) {
  const which = make('select', { id: 'near-attribute', onchange: () => load(which.value, 0, -1) });
  const one = make('select', { id: 'near-first', onchange: () => load(which.value, Number(one.value), Number(other.value)) });
  const other = make('select', { id: 'near-second', onchange: () => load(which.value, Number(one.value), Number(other.value)) });
  const picture = draw('svg', { class: 'scene near', role: 'img', viewBox: `0 0 ${WIDE} ${TALL}`, width: WIDE, height: TALL });
  const caption = make('figcaption'), why = make('div', { 'aria-live': 'polite' }), heat = make('div'), trouble = make('p');
  const controls = make('div', { class: 'row' }, make('label', { for: which.id }, 'Attribute'), which,
    make('label', { for: one.id }, 'From'), one, make('label', { for: other.id }, 'to'), other);
  const shown = make('div', {}, controls, make('figure', {}, picture, caption), why, heat);
  const panel = make('div', {}, trouble, shown);
  let found = null, places = [], key = '', fingerprint = '', edge = EDGE, busy = false, again = false;

  async function load(attribute, first, second) {
    try {
      found = await ask('near', { attribute, first, second });
    } catch (error) { trouble.textContent = error.message; shown.hidden = true; return; }
    trouble.textContent = '';
    shown.hidden = false;
    const now = JSON.stringify([found.attribute, found.nodes.map(node => node.words)]);
    if (now !== key || found.kind !== 'graph') places = found.nodes.map(({ x, y }) => ({ x, y }));
    if (now !== key) {
      key = now;
      // Names stand outside of a graph's places, and inside of the picture.
      const longest = Math.min(LONGEST, Math.max(...found.nodes.map(node => node.words.length)));
      edge = found.kind === 'graph' ? Math.max(EDGE, 12 + LETTER * longest) : EDGE;
      which.replaceChildren(...Object.entries(found.attributes).map(([name, words]) => make('option', { value: name }, words)));
      for (const list of [one, other]) list.replaceChildren(...found.nodes.map((node, k) => make('option', { value: String(k) }, node.words)));
    }
    [which.value, one.value, other.value] = [found.attribute, String(found.first), String(found.second)];
    paint();
    why.replaceChildren(make('div', { class: 'reason' }, reason(`${found.nodes[found.first].words} and ${found.nodes[found.second].words}`, found.reason, studio)));
    fill(heat, found.heat);
  }

  const across = k => edge + (places[k].x + 1) / 2 * (WIDE - 2 * edge);
  const down = k => 30 + (places[k].y + 1) / 2 * (TALL - 60);

  function paint() {
    const lit = new Set(found.way), few = found.nodes.length <= 40, parts = [];
    const line = (a, b, look, width) => draw('line', { class: `line ${look}`, 'stroke-width': width, x1: across(a), y1: down(a), x2: across(b), y2: down(b) });
    for (const [a, b] of found.edges) parts.push(line(a, b, 'muted', 1));
    found.way.slice(1).forEach((b, k) => parts.push(line(found.way[k], b, 'orange', 3)));
    found.nodes.forEach((node, k) => {
      const picked = k === found.first || k === found.second, size = few ? 8 : picked ? 7 : 4;
      const group = draw('g', { class: 'node', 'data-place': k });
      group.append(draw('title', {}, `${node.words}: ${node.odds}, ${node.right} of 1,000 right`));
      group.append(draw('circle', { class: `${k === found.first ? 'here' : node.look} ${picked ? 'picked' : ''}`, cx: across(k), cy: down(k), r: size }));
      if (few || picked || (lit.has(k) && lit.size < 12)) {
        const turned = found.kind === 'line' ? { transform: `rotate(-40 ${across(k)} ${down(k)})` } : {};
        const left = found.kind === 'graph' && places[k].x < -0.2;
        group.append(draw('text', { x: across(k) + (left ? -12 : 12), y: down(k) + 4, 'text-anchor': left ? 'end' : 'start', ...turned }, node.words.slice(0, LONGEST)));
      }
      parts.push(group);
    });
    picture.replaceChildren(...parts);
    const ends = found.nodes[found.second];
    picture.setAttribute('aria-label', `${found.nodes.length} values; from ${found.nodes[found.first].words} to ${ends.words}: ${ends.odds}.`);
    caption.textContent = 'Colours show how well each value is hidden from the ringed one; the orange way is the shortest to the other one. ' +
      'Pick a place to see why it is as far as it is' + (found.kind === 'graph' ? '; places can be dragged.' : '.');
  }

  // A press picks a place; one that moves drags it.
  picture.addEventListener('pointerdown', event => {
    const group = event.target.closest('.node');
    if (!group) return;
    event.preventDefault();
    const place = Number(group.dataset.place), start = [event.clientX, event.clientY];
    const scale = picture.getBoundingClientRect().width / WIDE;
    let dragged = false;
    const drag = step => {
      if (found.kind !== 'graph' || Math.hypot(step.clientX - start[0], step.clientY - start[1]) < 4 && !dragged) return;
      dragged = true;
      const box = picture.getBoundingClientRect();
      const clip = value => Math.max(-1, Math.min(1, value));
      places[place].x = clip(((step.clientX - box.left) / scale - edge) / (WIDE - 2 * edge) * 2 - 1);
      places[place].y = clip(((step.clientY - box.top) / scale - 30) / (TALL - 60) * 2 - 1);
      paint();
    };
    const end = () => {
      removeEventListener('pointermove', drag);
      removeEventListener('pointerup', end);
      if (!dragged) load(found.attribute, found.first, place);
    };
    addEventListener('pointermove', drag);
    addEventListener('pointerup', end);
  });

  async function refresh() {
    again = busy;
    if (busy) return;
    busy = true;
    do {
      again = false;
      await load(found ? found.attribute : '', found ? found.first : 0, found ? found.second : -1);
    } while (again);
    busy = false;
  }

  function show(state) {
    if (state.mistakes.length || state.fingerprint === fingerprint && found) return;
    fingerprint = state.fingerprint;
    if (panel.hidden) found = found && { ...found, stale: true };
    else refresh();
  }

  return { name: 'near', title: 'Who is near whom', panel, show, open: () => { if (!found || found.stale) refresh(); } };
}
