// How exact answers are: ± against what is spent, a price for a smaller ±, and a try with made-up people.

import { ask, fill, make, quiet } from './talk.js';

export function answers(studio) {
  const share = make('input', { type: 'range', id: 'share', min: '1', max: '100', value: '100', step: '1', oninput: () => refresh() });
  const said = make('output', { for: 'share' });
  const plan = make('button', { type: 'button', class: 'strong', onclick: () => load('plan') }, 'Plan the answers');
  const tried = make('button', { type: 'button', id: 'try', onclick: rehearse }, 'Try with made-up people');
  const words = make('p', { class: 'lead', role: 'status' }), rows = make('tbody'), notes = make('ul'), sample = make('div');
  const table = make('div', { class: 'scroll many', role: 'region', 'aria-label': 'Answers', tabindex: '0' }, make('table', {}, make('thead', {}, make('tr', {},
    ...['Question', '±, 19 times in 20', 'Buy a smaller ±'].map(one => make('th', { scope: 'col' }, one)))), rows));
  const controls = make('div', {}, make('div', { class: 'lever' }, make('label', { for: 'share' }, 'Of the budget'), share, said),
    make('div', { class: 'row' }, plan, tried));
  const panel = make('div', {}, words, controls, table, notes, sample);
  let fingerprint = '', planned = false, names = '', lines = new Map(), queries = '';

  const refresh = quiet(60, () => load('answers'));
  const part = () => String(Number(share.value) / 100);

  async function load(question) {
    said.textContent = `${share.value} % of the budget on these questions`;
    if (!queries) return;
    plan.disabled = true;
    if (question === 'plan') words.textContent = 'Planning …';
    try {
      show_rows(await ask(question, { share: part() }));
    } catch (error) { words.textContent = error.message; }
    plan.disabled = false;
  }

  function show_rows(found) {
    planned = found.planned;
    const late = found.stale && planned ? ' The policy has changed since: plan again.' : '';
    words.textContent = (found.words || `Questions of ${queries}: plan the answers to see how exact they are.`) + late;
    plan.textContent = planned ? 'Plan again' : 'Plan the answers';
    tried.disabled = !planned;
    table.hidden = !found.rows.length;
    notes.replaceChildren(...found.notes.map(one => make('li', {}, one)));
    const now = JSON.stringify(found.rows.map(one => one.name));
    if (now !== names) { names = now; build(found.rows); }
    for (const one of found.rows) {
      const line = lines.get(one.name);
      line.said.textContent = one.said;
      line.bar.setAttribute('width', String(Math.max(1, 160 * one.length)));
      line.note.textContent = one.note;
    }
  }

  function build(found) {
    lines = new Map(found.map(one => {
      const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
      bar.setAttribute('class', 'area blue');
      bar.setAttribute('height', '10');
      const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      for (const [key, value] of [['width', 160], ['height', 10], ['aria-hidden', 'true']]) svg.setAttribute(key, value);
      svg.append(bar);
      const cost = make('span', { role: 'status' });
      const wanted = make('input', { type: 'number', min: '0', step: 'any', 'aria-label': `± wanted of ${one.name}`, onchange: () => buy(one.name, wanted, cost) });
      return [one.name, { bar, svg, wanted, cost, said: make('span'), note: make('div', { class: 'note' }) }];
    }));
    rows.replaceChildren(...found.map(one => {
      const line = lines.get(one.name);
      return make('tr', {}, make('th', { scope: 'row' }, one.name, line.note), make('td', { 'data-title': '±, 19 times in 20' }, make('span', {}, line.said, ' ', line.svg)),
        make('td', { 'data-title': 'Buy a smaller ±' }, make('span', {}, '± ', line.wanted, ' ', line.cost)));
    }));
  }

  async function buy(name, wanted, cost) {
    try {
      const found = await ask('price', { name, wanted: Number(wanted.value) });
      const take = make('button', { type: 'button', onclick: () => { share.value = Math.ceil(found.share * 100); load('answers'); } }, 'Spend it');
      cost.replaceChildren(found.words, ' ', found.share === null ? '' : take);
    } catch (error) { cost.textContent = error.message; }
  }

  async function rehearse() {
    tried.disabled = true;
    try { fill(sample, (await ask('try', { share: part() })).html); } catch (error) { words.textContent = error.message; }
    tried.disabled = false;
  }

  function show(state) {
    queries = state.queries;
    controls.hidden = table.hidden = !queries;
    if (!queries) words.textContent = 'No questions were named. Start with: dxgeom studio policy.yaml queries.yaml';
    if (state.fingerprint === fingerprint || panel.hidden) return;
    fingerprint = state.fingerprint;
    load('answers');
  }

  return { name: 'answers', title: 'Answers', panel, show, open: () => load(planned || !queries ? 'answers' : 'plan') };
}
