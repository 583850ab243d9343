// Writes calls with random types and values, and how ethers and viem decode them, as one JSON
// object per line. abi_test.go compares package abi with them. Tuples are lists, integers are
// decimal strings.
//
//   node abi.js SEED COUNT    {"signature":"f(…)","calldata":"0x…","ethers":[…],"viem":[…]}
import { AbiCoder, getAddress, id } from 'ethers';
import { decodeAbiParameters, encodeAbiParameters } from 'viem';
import { random, write } from './random.js';

const { share, below, pick, some, letters } = random(Number(process.argv[2] ?? 1));
const HEX = '0123456789abcdef';
const bytes = (n) => `0x${letters(HEX, 2 * n)}`;

// Returns an integer below 2^bits; small values and the limits are frequent.
function magnitude(bits) {
  const full = 1n << BigInt(bits);
  return pick([0n, 1n, full - 1n, full >> 1n, BigInt(`0x${letters(HEX, 64)}`) % full, BigInt(below(1000)) % full]);
}

const signed = (n, bits) => BigInt.asIntN(bits, n);
const texts = ['', 'a', 'transfer', 'Zürich', '名前', '👩‍🚀', 'x'.repeat(31), 'y'.repeat(32), 'z'.repeat(33), '\u0000"\\<script>', '\u202e'];

const plain = [
  () => {
    const bits = 8 * (1 + below(32));
    return { type: `uint${bits}`, make: () => magnitude(bits), show: String };
  },
  () => {
    const bits = 8 * (1 + below(32));
    return { type: `int${bits}`, make: () => signed(magnitude(bits), bits), show: String };
  },
  () => ({ type: 'address', make: () => getAddress(bytes(20)), show: (v) => v }),
  () => ({ type: 'bool', make: () => share() < 0.5, show: (v) => v }),
  () => {
    const size = 1 + below(32);
    return { type: `bytes${size}`, make: () => bytes(size), show: (v) => v };
  },
  () => ({ type: 'bytes', make: () => bytes(below(80)), show: (v) => v }),
  () => ({ type: 'string', make: () => pick(texts), show: (v) => v }),
];

const listOf = (of) => (v) => Array.from(v, of.show);

function arrayOf(of, size) {
  const [, base, rest] = /^(tuple|[a-z0-9]+)(.*)$/.exec(of.type);
  return {
    type: `${base}${rest}[${size ?? ''}]`,
    text: `${of.text ?? of.type}[${size ?? ''}]`,
    components: of.components,
    make: () => some(size ?? below(4), of.make),
    show: listOf(of),
  };
}

function tupleOf(parts) {
  return {
    type: 'tuple',
    text: `(${parts.map((p) => p.text ?? p.type).join(',')})`,
    components: parts.map(({ type, components }) => ({ type, components })),
    make: () => parts.map((p) => p.make()),
    show: (v) => parts.map((p, i) => p.show(v[i])),
  };
}

function kind(levels) {
  const choice = levels > 0 ? below(plain.length + 4) : below(plain.length);
  if (choice < plain.length) return plain[choice]();
  if (choice === plain.length) return arrayOf(kind(levels - 1));
  if (choice === plain.length + 1) return arrayOf(kind(levels - 1), 1 + below(3));
  return tupleOf(some(1 + below(4), () => kind(levels - 1)));
}

for (let n = Number(process.argv[3] ?? 1000); n > 0; n--) {
  const args = some(1 + below(4), () => kind(3));
  const types = args.map((a) => a.text ?? a.type);
  const params = args.map(({ type, components }) => ({ type, components }));
  const values = args.map((a) => a.make());
  const encoded = AbiCoder.defaultAbiCoder().encode(types, values);
  if (encoded !== encodeAbiParameters(params, values)) throw new Error(`ethers and viem encode ${types} differently`);
  const signature = `f(${types.join(',')})`;
  const shown = (decoded) => args.map((a, i) => a.show(decoded[i]));
  write({
    signature,
    calldata: id(signature).slice(0, 10) + encoded.slice(2),
    ethers: shown(AbiCoder.defaultAbiCoder().decode(types, encoded)),
    viem: shown(decodeAbiParameters(params, encoded)),
  });
}
