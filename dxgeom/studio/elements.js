// Elements made without markup of anybody's names.

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

export function badge(look, words) {
  return words ? make('span', { class: 'badge ' + look }, words) : '';
}
