// What the one who signs decides, exported with the policy's fingerprint, and a page to print.

import { ask, make } from './talk.js';

export function sign(studio) {
  const lead = make('p', { class: 'lead', role: 'status' }), list = make('div'), rules = make('ul'), digest = make('p');
  const name = make('input', { type: 'text', id: 'signer', autocomplete: 'off', oninput: ready });
  const save = make('button', { type: 'button', class: 'strong', id: 'export', onclick: write }, 'Export the decisions (JSON)');
  const print = make('button', { type: 'button', onclick: () => window.print() }, 'Print this page');
  const by = make('div', { class: 'row' }, make('label', { for: 'signer' }, 'Name of the one who signs'), name, save, print);
  const hand = make('div', { class: 'signature' }, ...['Name', 'Place and date', 'Signature'].map(one => make('div', {}, one)));
  const whole = make('div', {}, digest, make('h2', {}, 'What is promised'), rules, make('h2', {}, 'What is decided'), list, by, hand);
  const panel = make('div', {}, lead, whole);
  let found = null, boxes = [], latest = '', shown = '';

  async function load() {
    try { found = await ask('decisions'); } catch (error) { found = null; lead.textContent = error.message; }
    whole.hidden = !found;
    if (!found) return;
    lead.textContent = 'Read each, and tick what you have decided. The export names the policy by its fingerprint.';
    digest.replaceChildren(`${found.title}, budget ${found.budget}, `, make('code', {}, found.fingerprint));
    rules.replaceChildren(...found.rules.map(one => make('li', {}, one)));
    boxes = found.decisions.map((one, k) => make('input', { type: 'checkbox', id: `decision-${k}`, onchange: ready }));
    list.replaceChildren(...found.decisions.map((one, k) => make('div', { class: 'row decision' }, boxes[k],
      make('label', { for: `decision-${k}` }, make('strong', {}, one.lead), ' ', one.more))));
    if (!boxes.length) list.append('There is nothing to be decided.');
    ready();
  }

  function ready() { save.disabled = !name.value.trim() || boxes.some(one => !one.checked); }

  async function write() {
    try {
      const signed = await ask('sign', { name: name.value, fingerprint: found.fingerprint, decided: boxes.map(one => one.checked) });
      const link = make('a', { href: URL.createObjectURL(new Blob([signed.text], { type: 'application/json' })), download: signed.file });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      lead.textContent = `${signed.file} was handed to the browser's downloads. Keep it with the policy.`;
    } catch (error) { lead.textContent = error.message; }
  }

  // What was ticked stays as long as the policy is the same.
  function open() {
    if (latest === shown) return;
    shown = latest;
    load();
  }

  function show(state) {
    latest = `${state.fingerprint} ${state.saved}`;
    if (!panel.hidden) open();
  }

  return { name: 'sign', title: 'Sign', panel, show, open };
}
