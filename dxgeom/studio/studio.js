// The studio: one draft, its parts as tabs, and changes sent one after the other.

import { ask, make, quiet } from './talk.js';
import { promises } from './promises.js';
import { editor } from './editor.js';
import { compare } from './compare.js';

const at = name => document.getElementById(name);
const studio = { revision: 0, busy: false, move, edit, go, tell, say };
const parts = [promises, compare, editor].map(part => part(studio));
const undone = [];
let wanted = null, state = null, moved = '', last = 0;

function say(words) { at('note').textContent = words; }

function show(found) {
  if (found.revision < studio.revision) return;  // an answer that later ones have overtaken
  state = { ...state, notices: undefined, compared: undefined, ...found };
  studio.revision = found.revision;
  at('title').textContent = found.title || found.file;
  at('about').textContent = found.about;
  at('fingerprint').textContent = found.fingerprint ? `fingerprint ${found.fingerprint.slice(0, 12)}` : 'no fingerprint: the file has mistakes';
  at('saved').textContent = found.saved ? `${found.file}: as saved` : `${found.file}: changed, not saved`;
  at('save').disabled = found.saved;
  at('undo').disabled = undone.length === 0;
  document.title = `${found.saved ? '' : '• '}${found.title || found.file} · policy studio`;
  say(found.note);
  for (const part of parts) part.show(state);
}

// Asks, shows the answer, and tells what is refused.
async function tell(question, content = {}) {
  try {
    show(await ask(question, { revision: studio.revision, ...content }));
  } catch (error) { say(error.message); }
}

// Of changes that come faster than answers only the latest is sent.
async function change(question, content) {
  wanted = [question, content];
  document.body.dataset.settled = 'no';
  if (studio.busy) return;
  studio.busy = true;
  while (wanted) {
    const [next, given] = wanted;
    wanted = null;
    await tell(next, given);
  }
  studio.busy = false;
  settle();
}

const settle = quiet(400, async () => {
  if (studio.busy) return;
  await tell('settle');
  document.body.dataset.settled = studio.busy ? 'no' : 'yes';
});

function move(lever, value) {
  remember(lever);
  change('move', { lever, value });
}

function edit(text) {
  if (text === state.text) return;
  remember('text');
  change('edit', { text });
}

// A slider that is drawn along is one change.
function remember(what) {
  const now = Date.now();
  if (what !== moved || now - last > 1500) undone.push(state.text);
  [moved, last] = [what, now];
}

function go(line) {
  choose('file');
  parts.find(part => part.name === 'file').go(line);
}

function choose(name, focus = false) {
  for (const part of parts) {
    const chosen = part.name === name;
    part.tab.setAttribute('aria-selected', String(chosen));
    part.tab.tabIndex = chosen ? 0 : -1;
    part.panel.hidden = !chosen;
    if (chosen && focus) part.tab.focus();
    if (chosen && part.open) part.open();
  }
}

function turn(event) {
  const place = parts.findIndex(part => part.tab === event.target);
  const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: parts.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  choose(parts[(next + parts.length) % parts.length].name, true);
}

for (const part of parts) {
  part.tab = make('button', {
    type: 'button', role: 'tab', id: `tab-${part.name}`, 'aria-controls': part.name, onclick: () => choose(part.name), onkeydown: turn,
  }, part.title);
  Object.assign(part.panel, { id: part.name, hidden: true });
  part.panel.setAttribute('role', 'tabpanel');
  part.panel.setAttribute('aria-labelledby', `tab-${part.name}`);
  at('tabs').append(part.tab);
  at('panels').append(part.panel);
}

at('save').addEventListener('click', () => tell('save'));
at('undo').addEventListener('click', () => {
  const text = undone.pop();
  moved = '';
  if (text !== undefined) change('edit', { text });
});
addEventListener('beforeunload', event => { if (state && !state.saved) event.preventDefault(); });
choose('promises');
tell('state').then(settle);
export { studio };
