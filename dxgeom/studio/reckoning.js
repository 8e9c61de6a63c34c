// What numbers of a policy amount to: distances as shortest paths, odds and guesses rounded up, errors of counts.

const UP = 1 + 1e-9, MOST_ODDS = 1000000;
const BANDS = [[1.23, 'strongly hidden'], [2.72, 'partly hidden'], [20.1, 'weakly hidden'], [1000, 'barely hidden'], [Infinity, 'not hidden']];

// Of all pairs of values the shortest path over the least bound; a term is a number times what it has for each pair.
export function distances(attribute, numbers) {
  const size = attribute.labels.length, found = Array.from({ length: size }, () => new Float64Array(size).fill(Infinity));
  for (const { rule, base } of attribute.terms) {
    const times = rule === null ? 1 : numbers[rule];
    for (let i = 0, at = 0; i < size; i += 1) for (let j = i + 1; j < size; j += 1, at += 1)
      if (base[at] !== null && times * base[at] < found[i][j]) found[i][j] = found[j][i] = times * base[at];
  }
  for (let k = 0; k < size; k += 1) found[k][k] = 0;
  for (let k = 0; k < size; k += 1) for (let i = 0; i < size; i += 1) {
    const row = found[i], there = row[k];
    if (there < Infinity) for (let j = 0; j < size; j += 1) if (there + found[k][j] < row[j]) row[j] = there + found[k][j];
  }
  return found;
}

// A number above 0 with so many digits, rounded up, in full.
export function up(value, count) {
  const [digits, power] = value.toExponential(99).replace('.', '').split('e');
  const rest = digits.slice(count).replace(/0/g, ''), kept = BigInt(digits.slice(0, count)) + (rest ? 1n : 0n);
  const grown = String(kept).length > count ? 1 : 0, places = count - 1 - Number(power) - grown;
  const whole = String(grown ? kept / 10n : kept);
  if (places <= 0) return Number(whole + '0'.repeat(-places)).toLocaleString('en-US');
  const padded = whole.padStart(places + 1, '0');
  return `${Number(padded.slice(0, -places)).toLocaleString('en-US')}.${padded.slice(-places)}`;
}

export function odds(distance) {
  if (distance === Infinity) return 'no limit';
  if (distance === 0) return '1 to 1';
  const value = ratio(distance);
  return value > MOST_ODDS ? 'more than 1,000,000 to 1' : `${up(value, 3)} to 1`;
}

const ratio = distance => Math.exp(Math.min(distance, 100) * UP) * (1 + 1e-12);

export function guesses(distance) {
  return distance === 0 ? 500 : Math.ceil(1000 / (1 + Math.exp(-Math.min(distance, 100) * UP)) * (1 - 1e-15));
}

// How well that hides, as the odds are written.
export function band(distance) {
  const written = distance === Infinity ? Infinity : distance === 0 ? 1 : ratio(distance) > MOST_ODDS ? Infinity : Number(up(ratio(distance), 3).replaceAll(',', ''));
  const at = BANDS.findIndex(([most]) => written <= most);
  return { words: BANDS[at][1], look: `band-${at + 1}` };
}

// ± of the count of those with one value, asked alone, 19 times in 20: Laplace noise for the closest other value,
// or for a record that is not there, and half a step of the numbers on which noise is drawn.
export function error(found, place, away, budget) {
  const closest = Math.min(away, ...found[place].filter((_, k) => k !== place)) * budget;
  return closest === Infinity ? 'exact' : `± ${up((Math.log(20) + 1 / 32) / closest * UP, 2)}`;
}
