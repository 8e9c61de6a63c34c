// A slider for each number that promises something, in odds and right guesses.

import { badge, fill, make } from './talk.js';

const LEAD = 'Each rule promises how hard two records are to tell apart. Left hides more, right lets answers be more exact. ' +
  'Somebody who guesses which of two records is in the data, and who has seen all answers, is right at most this often.';

export function promises(studio) {
  const notices = make('div', { 'aria-live': 'polite' });
  const cards = make('div');
  const panel = make('div', {}, make('p', { class: 'lead' }, LEAD), cards,
    make('section', {}, make('h2', {}, 'What is to be decided'), notices));
  let structure = '', shown = new Map(), boxes = [];

  function lever(one, of) {
    const range = make('input', {
      type: 'range', min: '0', id: one.name, step: '1',
      oninput: () => studio.move(one.name, shown.get(one.name).stops[range.value]),
    });
    const field = make('input', {
      type: 'number', step: 'any', min: '0', 'aria-label': `${of}: exact number`,
      onchange: () => field.value && studio.move(one.name, plain(field.value)),
    });
    const said = make('output', { for: one.name });
    const words = one.words || (of === 'budget' ? 'budget' : 'epsilon');
    const box = make('div', { class: 'lever' }, make('label', { for: one.name }, words), range, field, said);
    return { box, range, field, said, of };
  }

  function update(row, one) {
    shown.set(one.name, one);
    row.range.max = one.stops.length - 1;
    if (document.activeElement !== row.range || !studio.busy) row.range.value = one.at;
    if (document.activeElement !== row.field) row.field.value = one.value;
    const right = `${one.right} of 1,000 guesses right at most`;
    const times = row.of === 'budget' ? 'at distance 1: ' : '';
    row.range.setAttribute('aria-valuetext', `${one.value}: ${times}${one.odds}, ${right}`);
    row.said.replaceChildren(`${times}${one.odds} · ${right} `, badge(one.look, one.band));
  }

  function build(state) {
    boxes = [...state.rules, ...state.budget.map(one => ({ levers: [one] }))].map(rule => {
      const of = rule.title || 'budget';
      const rows = rule.levers.map(one => lever(one, of));
      const at = make('button', { type: 'button', class: 'plain', onclick: () => studio.go(box.line) }, '');
      const box = {
        rows, at, title: make('h2'), sentence: make('p'), pairs: make('div'), note: make('p', { class: 'note' }),
      };
      box.whole = make('section', { class: 'card', 'aria-label': of }, box.title, box.sentence, ...rows.map(row => row.box), box.note,
        box.pairs, at);
      return box;
    });
    cards.replaceChildren(...boxes.map(box => box.whole));
  }

  function show(state) {
    panel.classList.toggle('busy', state.mistakes.length > 0);
    if (state.mistakes.length) return;
    const found = JSON.stringify([state.rules.map(rule => [rule.title, rule.levers.map(one => one.name)]), state.budget.length]);
    if (found !== structure) { structure = found; build(state); }
    state.rules.forEach((rule, k) => {
      const box = boxes[k];
      box.line = rule.line;
      box.title.textContent = `Rule ${rule.number}: ${rule.title}`;
      box.sentence.textContent = rule.sentence;
      box.note.textContent = rule.note;
      box.at.textContent = `Line ${rule.line} of the file`;
      fill(box.pairs, rule.pairs);
      rule.levers.forEach((one, at) => update(box.rows[at], one));
    });
    state.budget.forEach((one, k) => {
      const box = boxes[state.rules.length + k];
      box.line = one.line;
      box.title.textContent = 'Budget';
      box.sentence.textContent = 'Every promise times this: so much may all answers together disclose.';
      box.at.textContent = one.line ? `Line ${one.line} of the file` : '';
      update(box.rows[0], one);
    });
    if (state.notices !== undefined) fill(notices, state.notices);
  }

  return { name: 'promises', title: 'Promises', panel, show };
}

// A number without a power of ten, which a policy file has not.
function plain(value) {
  return /e/i.test(value) ? Number(value).toFixed(9).replace(/\.?0+$/, '') : value;
}
