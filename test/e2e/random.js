// random(seed) returns the functions from which generators draw; they are deterministic for a seed.
export function random(seed) {
  // mulberry32
  let state = seed >>> 0;
  function share() {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  const below = (n) => Math.floor(share() * n);
  const pick = (list) => list[below(list.length)];
  const maybe = (chance, make) => (share() < chance ? make() : undefined);
  const some = (n, make) => Array.from({ length: n }, make);
  const letters = (alphabet, n) => some(n, () => pick([...alphabet])).join('');
  return { share, below, pick, maybe, some, letters };
}

// write prints an object as a line.
export const write = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
