// What if: sliders for the numbers of a policy, and what follows from them, without a server.

import { badge, make } from './elements.js';
import { band, distances, error, guesses, odds } from './reckoning.js';

const MOST_CELLS = 20;
const at = name => document.getElementById(name);
const model = JSON.parse(at('model').textContent);
const rules = model.rules.map(rule => rule.number), movable = [...rules, model.budget];
const numbers = movable.map(one => one ? Number(one.value) : 1), first = [...numbers];
const which = make('select', { id: 'attribute', onchange: () => choose() });
const one = make('select', { id: 'one', onchange: () => pair() }), other = make('select', { id: 'other', onchange: () => pair() });
const said = make('p', { class: 'lead', role: 'status', id: 'pair' }), cells = make('div'), counts = make('tbody'), state = at('state');
let rows = [], now = [], before = [];

const words = distance => `odds ${odds(distance).startsWith('more') || distance === Infinity ? '' : 'at most '}${odds(distance)} · ` +
  `${guesses(distance).toLocaleString('en-US')} of 1,000 guesses right at most`;
const attribute = () => model.attributes[Number(which.value)];
const budget = values => values[values.length - 1];
const away = values => Math.min(Infinity, ...model.presence.map((k, j) => k === null ? model.away[j] : values[k]));

function lever(k, title, line, note) {
  const is = movable[k], name = k === rules.length ? 'budget' : `rule-${k + 1}`;
  if (!is) return make('section', { class: 'card' }, make('h2', {}, title), make('p', { class: 'note' }, `${note} Line ${line}.`));
  const range = make('input', { type: 'range', id: name, min: '0', max: String(is.stops.length - 1), step: '1' });
  const output = make('output', { for: name });
  range.value = is.at;
  range.addEventListener('input', () => { numbers[k] = Number(is.stops[range.value]); reckon(); });
  rows.push(() => {
    const distance = numbers[k] * (k === rules.length ? 1 : budget(numbers)), changed = numbers[k] === first[k] ? '' : ` (in the file ${is.value})`;
    output.replaceChildren(`${is.stops[range.value]}${changed}: at distance ${k === rules.length ? '1' : is.stops[range.value]} ${words(distance)} `, badge(band(distance).look, band(distance).words));
    range.setAttribute('aria-valuetext', `${is.stops[range.value]}: ${words(distance)}`);
  });
  const reset = make('button', { type: 'button', onclick: () => { range.value = is.at; numbers[k] = first[k]; reckon(); } }, 'As in the file');
  return make('section', { class: 'card' }, make('h2', {}, title), make('div', { class: 'lever' }, make('label', { for: name }, name === 'budget' ? 'budget' : 'epsilon'), range, reset, output),
    line ? make('p', { class: 'note' }, `Line ${line} of the file.`) : '');
}

function choose() {
  const labels = attribute().labels;
  for (const list of [one, other]) list.replaceChildren(...labels.map((label, k) => make('option', { value: String(k) }, label)));
  [one.value, other.value] = ['0', String(labels.length - 1)];
  reckon();
}

function reckon() {
  for (const row of rows) row();
  [now, before] = [numbers, first].map(values => distances(attribute(), values));
  const same = numbers.every((value, k) => value === first[k]);
  state.textContent = same ? 'All numbers are as in the file.' : 'Numbers differ from the file. Nothing is written: change the file to keep them.';
  pair();
  fill_cells();
  fill_counts();
}

function pair() {
  const [i, j] = [Number(one.value), Number(other.value)], labels = attribute().labels;
  const [is, was] = [now[i][j] * budget(numbers), before[i][j] * budget(first)];
  said.replaceChildren(`${labels[i]} and ${labels[j]}: ${i === j ? 'one and the same' : words(is)}${is === was || i === j ? '' : `; in the file ${odds(was)}`} `,
    i === j ? '' : badge(band(is).look, band(is).words));
}

function fill_cells() {
  const labels = attribute().labels;
  if (labels.length > MOST_CELLS) return cells.replaceChildren();
  const head = make('tr', {}, make('td'), ...labels.map(label => make('th', { scope: 'col' }, label)));
  const body = labels.map((label, i) => make('tr', {}, make('th', { scope: 'row' }, label), ...labels.map((_, j) => {
    const distance = now[i][j] * budget(numbers);
    return i === j ? make('td') : make('td', { class: band(distance).look }, odds(distance).replace(' to 1', ''));
  })));
  const table = make('table', { class: 'pairs' }, make('caption', {}, 'Odds to 1, at most, of any two values'), make('thead', {}, head), make('tbody', {}, ...body));
  cells.replaceChildren(make('div', { class: 'scroll many', role: 'region', 'aria-label': 'All pairs', tabindex: '0' }, table));
}

function fill_counts() {
  counts.replaceChildren(...attribute().labels.map((label, k) => make('tr', {}, make('th', { scope: 'row' }, label),
    make('td', {}, error(now, k, away(numbers), budget(numbers))), make('td', {}, error(before, k, away(first), budget(first))))));
}

which.append(...model.attributes.map((each, k) => make('option', { value: String(k) }, each.name)));
const head = ['Count of', '± now', '± in the file'].map(each => make('th', { scope: 'col' }, each));
at('what-if').append(
  ...model.rules.map((rule, k) => lever(k, `Rule ${k + 1}: ${rule.words}`, rule.line, rule.note)),
  lever(rules.length, 'Budget: every promise times this', 0, ''),
  make('section', {}, make('h2', {}, 'Two records that differ only in'),
    make('div', { class: 'row' }, make('label', { for: 'attribute' }, 'Attribute'), which, make('label', { for: 'one' }, 'From'), one, make('label', { for: 'other' }, 'to'), other),
    said, cells),
  make('section', {}, make('h2', {}, 'How exact a count is'),
    make('p', {}, 'For one count, asked alone with the whole budget, 19 times in 20. A plan of several questions is exact in another way: dxgeom plan says how.'),
    make('div', { class: 'scroll many', role: 'region', 'aria-label': 'Counts', tabindex: '0' }, make('table', { id: 'counts' }, make('thead', {}, make('tr', {}, ...head)), counts))),
  ...model.left.map(each => make('p', { class: 'note' }, `${each} It is not on this page.`)));
choose();
