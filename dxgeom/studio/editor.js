// The file itself, with mistakes where they are.

import { make, quiet } from './talk.js';

export function editor(studio) {
  const gutter = make('div', { class: 'gutter', 'aria-hidden': 'true' });
  const under = make('pre', { 'aria-hidden': 'true' });
  const text = make('textarea', {
    spellcheck: false, 'aria-label': 'The policy file', 'aria-describedby': 'mistakes', autocomplete: 'off', wrap: 'off',
  });
  const list = make('ul', { class: 'mistakes' });
  const count = make('p', { id: 'mistakes', role: 'status' });
  const panel = make('div', {}, make('div', { class: 'editor' }, gutter, make('div', { class: 'sheet' }, under, text)), count, list);
  let typing = false;
  const send = quiet(250, () => { typing = false; studio.edit(text.value); });
  text.addEventListener('input', () => { typing = true; mark([]); send(); });
  text.addEventListener('scroll', follow);

  function follow() {
    under.scrollTop = gutter.scrollTop = text.scrollTop;
    under.scrollLeft = text.scrollLeft;
  }

  function mark(mistakes) {
    const lines = text.value.split('\n');
    const wrong = new Map(mistakes.map(one => [one.line, one]));
    gutter.replaceChildren(...lines.flatMap((_, k) => [
      wrong.has(k + 1) ? make('span', { class: 'wrong' }, String(k + 1)) : String(k + 1), '\n']), '\n\n');
    under.replaceChildren(...lines.flatMap((line, k) => {
      const one = wrong.get(k + 1);
      if (!one) return [line, '\n'];
      const start = one.column - 1, end = start + one.length;
      return [line.slice(0, start), make('mark', {}, line.slice(start, end) || ' '), line.slice(end), '\n'];
    }), '\n\n');
    follow();
  }

  function go(line, column = 1, length = 0) {
    const before = text.value.split('\n').slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
    const end = length ? before + column - 1 + length : text.value.indexOf('\n', before);
    text.focus();
    text.setSelectionRange(before + column - 1, end < 0 ? text.value.length : end);
    text.scrollTop = Math.max(0, (line - 5) * 21);
    follow();
  }

  function show(state) {
    if (text.value !== state.text && !typing && !(document.activeElement === text && studio.busy)) text.value = state.text;
    if (text.value === state.text) mark(state.mistakes);
    const number = state.mistakes.length;
    count.textContent = number === 0 ? 'No mistakes.' : number === 1 ? 'One mistake:' : `${number} mistakes:`;
    list.replaceChildren(...state.mistakes.map(one => make('li', {},
      make('button', { type: 'button', class: 'plain', onclick: () => go(one.line, one.column, one.length) },
        `Line ${one.line}, column ${one.column}: ${one.code}`),
      make('div', {}, one.message), one.advice ? make('div', { class: 'note' }, one.advice) : '')));
  }

  return { name: 'file', title: 'The file', panel, show, go };
}
