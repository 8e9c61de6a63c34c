// Questions to the studio's server, and elements made without markup of anybody's names.

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

// An element with attributes and children; what begins with "on" listens.
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (key in made && typeof value !== 'string') made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter(one => one !== null && one !== ''));
  return made;
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

export function badge(look, words) {
  return words ? make('span', { class: 'badge ' + look }, words) : '';
}
