// Guess which record: a game that makes odds felt. Everything in it is made up.

import { make } from './talk.js';

const LEAD = 'One of two records is in made-up data: A or B. You know everybody else, and ask how many B there are. The answer has ' +
  'noise, as much as the promise needs. Which record is it? Nobody can be right more often, in the long run, than stated here.';

export function game(studio) {
  const which = make('select', { id: 'game-promise', onchange: () => begin() });
  const answer = make('p', { class: 'lead', role: 'status' }), tally = make('p', { 'aria-live': 'polite' }), best = make('p');
  const guess = one => make('button', { type: 'button', onclick: () => guessed(one) }, `It is ${'AB'[one]}`);
  const many = make('button', { type: 'button', onclick: () => play(1000) }, 'Play 1,000 rounds as well as one can');
  const table = make('div', {}, make('div', { class: 'row' }, make('label', { for: which.id }, 'Promise'), which), best, answer,
    make('div', { class: 'row' }, guess(0), guess(1), many), tally);
  const none = make('p');
  const panel = make('div', {}, make('p', { class: 'lead' }, LEAD), none, table);
  let levers = new Map(), key = '', secret = 0, rounds = 0, right = 0;

  // Geometric noise on both sides: the least that keeps the odds of any answer within e to the distance.
  function noise(distance) {
    const side = () => Math.floor(-Math.log(1 - Math.random()) / distance);
    return side() - side();
  }

  function distance() { return levers.get(which.value).told; }

  function ask() {
    secret = Math.random() < 0.5 ? 0 : 1;
    answer.textContent = `Round ${rounds + 1}. The answer: ${secret + noise(distance())}. Which record is it?`;
  }

  function begin() {
    [rounds, right] = [0, 0];
    tally.textContent = 'No round played yet.';
    best.textContent = `With this promise at most ${levers.get(which.value).right} of 1,000 guesses are right. A coin gets 500.`;
    ask();
  }

  function guessed(one) {
    rounds += 1;
    right += one === secret ? 1 : 0;
    const was = `It was ${'AB'[secret]}: ${one === secret ? 'right' : 'wrong'}. `;
    tally.textContent = `${was}${right} of ${rounds} right, which is ${Math.round(1000 * right / rounds)} of 1,000.`;
    ask();
  }

  // Whoever sees 1 or more says B, and cannot do better.
  function play(count) {
    for (let k = 0; k < count; k += 1) {
      const is = Math.random() < 0.5 ? 0 : 1;
      right += (is + noise(distance()) >= 1 ? 1 : 0) === is ? 1 : 0;
    }
    rounds += count;
    tally.textContent = `${right.toLocaleString('en')} of ${rounds.toLocaleString('en')} right, which is ${Math.round(1000 * right / rounds)} of 1,000.`;
    ask();
  }

  function show(state) {
    if (state.mistakes.length) return;
    const found = state.privacy === 'pure' ? state.rules.flatMap(rule => rule.levers.map(one => ({ ...one, title: `${rule.title}${one.words && `: ${one.words}`}` }))) : [];
    table.hidden = !found.length;
    none.textContent = found.length ? '' : 'The game needs a promise of odds that always hold, and a number in the file that states it.';
    const now = JSON.stringify(found.map(one => [one.name, one.told]));
    if (!found.length || now === key) return;
    key = now;
    const chosen = which.value;
    levers = new Map(found.map(one => [one.name, one]));
    which.replaceChildren(...found.map(one => make('option', { value: one.name }, one.title)));
    if (levers.has(chosen)) which.value = chosen;
    begin();
  }

  return { name: 'game', title: 'Guess which record', panel, show };
}
