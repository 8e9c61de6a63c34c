// Before and after: changed pairs, worst first, and the reason of each.

import { ask, badge, fill, make } from './talk.js';

export function compare(studio) {
  const words = make('p', { class: 'lead', role: 'status' }), notices = make('div'), tables = make('div');
  const rebase = make('button', { type: 'button', onclick: () => studio.tell('rebase') }, 'Compare with the policy as it is now');
  const panel = make('div', {}, words, make('div', { class: 'row' }, rebase), notices, tables);
  let shown = '';

  function table(title, rows) {
    if (!rows.length) return '';
    const head = ['Two records that differ only in this', 'Before', 'Now', 'Right of 1,000 guesses', ''];
    const body = make('tbody', {}, ...rows.flatMap(one => row(one, head.length)));
    const top = make('thead', {}, make('tr', {}, ...head.map(one => make('th', { scope: 'col' }, one))));
    return make('section', {}, make('h2', {}, title), make('div', { class: 'scroll' }, make('table', {}, top, body)));
  }

  function row(one, columns) {
    const cell = make('td', { colspan: String(columns) });
    const below = make('tr', { hidden: true }, cell);
    const why = make('button', { type: 'button', 'aria-expanded': 'false', 'aria-label': `Why: ${one.title}, ${one.pair}`, onclick: open }, 'Why?');
    async function open() {
      below.hidden = !below.hidden;
      why.setAttribute('aria-expanded', String(!below.hidden));
      if (below.hidden) return;
      try {
        const found = await ask('reason', { attribute: one.attribute, first: one.first, second: one.second });
        cell.replaceChildren(make('div', { class: 'reason columns' }, reason('Before', found.before, null), reason('Now', found.now, studio)));
      } catch (error) { cell.replaceChildren(error.message); }
    }
    return [make('tr', {}, make('th', { scope: 'row' }, `${one.title}: ${one.pair}`), make('td', {}, one.before),
      make('td', {}, one.now, ' ', badge(one.look, one.band)), make('td', { class: 'figure' }, one.right), make('td', {}, why)), below];
  }

  function show(state) {
    if (state.compared === undefined) return;
    const found = JSON.stringify(state.compared);
    if (found === shown) return;
    shown = found;
    words.textContent = state.compared.words;
    rebase.disabled = state.compared.same;
    fill(notices, state.compared.notices);
    tables.replaceChildren(table('Hidden less well than before', state.compared.weaker), table('Hidden better than before', state.compared.stronger));
  }

  return { name: 'compare', title: 'Compare', panel, show };
}

// Why two records are as far apart as they are, rule by rule; where the file is at hand each step leads to its line.
export function reason(title, found, studio) {
  if (!found) return make('div', {}, make('h3', {}, title), make('p', {}, 'There was no policy without mistakes.'));
  const steps = found.steps.map(step => make('li', {}, step.words + ' ', studio
    ? make('button', { type: 'button', class: 'plain', onclick: () => studio.go(step.line) }, `line ${step.line}`) : `(line ${step.line} then)`));
  const odds = found.odds ? make('p', {}, `${found.odds[0].toUpperCase()}${found.odds.slice(1)}, ${found.right} of 1,000 guesses right at most.`) : '';
  return make('div', {}, make('h3', {}, title), odds, make('p', {}, found.words), make('ol', { class: 'steps' }, ...steps));
}
