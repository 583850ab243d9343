// Prints how viem and ens-normalize normalize names of ASCII characters: every short name of each
// character, realistic names, and random ones near the rules. One JSON object per line with both
// results, or null. Argument: the seed.
import { ensNormalize } from 'ethers';
import { normalize } from 'viem/ens';

let state = Number(process.argv[2] ?? 1) >>> 0;

// mulberry32, a seeded generator.
function random(n) {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % n;
}

const pick = (list) => list[random(list.length)];
const attempt = (f, name) => {
  try {
    return f(name);
  } catch {
    return null;
  }
};

function* names() {
  for (let c = 0; c < 128; c++) {
    const character = String.fromCharCode(c);
    yield character;
    for (const around of ['a|', '|a', 'a|a', '|.eth', 'a.|', '_|', '|_', '||', 'ab|-', 'ab-|', 'a|--', '--|', '|--']) yield around.replaceAll('|', character);
  }
  yield* ['vitalik.eth', 'VITALIK.eTh', 'nick.ETH', '0x123.eth', 'a.b.c.d.e', '_dnslink.example.com', 'xn--ls8h.eth', 'x--n.eth', '1-2-3.eth', '$$.eth', "it's.eth"];
  const alphabet = [...'abcxyzABCXYZ0189', '-', '--', '_', '__', '.', '.', '$', 'xn--', 'eth'];
  const odd = [...alphabet, ...' \t\n!"#%&\'()*+,/:;<=>?@[]^`{|}~\0\x7f'];
  for (let i = 0; i < 6000; i++) {
    let name = '';
    for (let n = 1 + random(24); n > 0; n--) name += pick(random(8) ? alphabet : i % 3 ? alphabet : odd);
    yield name;
    if (i % 50 === 0) yield name.replaceAll('.', '').repeat(300).slice(0, 240 + random(30));
  }
}

for (const name of names()) {
  if (name === '') continue; // normalizes to itself, but is not a name
  console.log(JSON.stringify({ name, viem: attempt(normalize, name), ethers: attempt(ensNormalize, name) }));
}
