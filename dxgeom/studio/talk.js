// Questions to the studio's server.

export { badge, make } from './elements.js';

let token = location.hash.slice(1) || sessionStorage.getItem('studio') || '';
if (location.hash) {
  sessionStorage.setItem('studio', token);
  history.replaceState(null, '', location.pathname);
}

export async function ask(question, content = {}) {
  const headers = { 'Content-Type': 'application/json', 'X-Studio-Token': token };
  let answer;
  try {
    answer = await fetch('/ask/' + question, { method: 'POST', headers, body: JSON.stringify(content) });
  } catch {
    throw new Error('The studio has ended: start it again in the terminal.');
  }
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

// Blocks of a document, in which the server has escaped every word.
export function fill(box, html) {
  if (box.shown === html) return;
  box.shown = html;
  box.innerHTML = html;
}

// Calls once it has been quiet for so long.
export function quiet(milliseconds, action) {
  let waiting = 0;
  return (...given) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => action(...given), milliseconds);
  };
}
