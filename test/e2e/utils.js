// Writes how ethers and viem treat some thousand inputs of the EVM utilities, as one JSON object
// per line. utils_test.go compares toolbox/offline with them.
//
//   node utils.js SEED    {"op":"…","input":{…},"ethers":… or null,"viem":… or null}
//                         null for an input that a library refuses
import * as ethers from 'ethers';
import * as viem from 'viem';
import { random, write } from './random.js';

const { share, below, pick, maybe, some, letters } = random(Number(process.argv[2] ?? 1));
const HEX = '0123456789abcdef';

function or(make) {
  try {
    return make();
  } catch {
    return null;
  }
}

// Addresses: valid, with other capitals, and malformed.
const changes = {
  right: (a) => a,
  small: (a) => a.toLowerCase(),
  capitals: (a) => `0x${a.slice(2).toUpperCase()}`,
  'one case': (a) => {
    const at = 2 + below(40);
    const c = a[at];
    return a.slice(0, at) + (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()) + a.slice(at + 1);
  },
  'one digit': (a) => {
    const at = 2 + below(40);
    return a.slice(0, at) + pick([...HEX]) + a.slice(at + 1);
  },
  'no prefix': (a) => a.slice(2),
  'large prefix': (a) => `0X${a.slice(2)}`,
  short: (a) => a.slice(0, -1 - below(5)),
  long: (a) => a + letters(HEX, 1 + below(5)),
  spaced: (a) => pick([` ${a}`, `${a} `, `${a}\n`]),
  'other character': (a) => {
    const at = below(42);
    return a.slice(0, at) + pick(['g', 'x', ' ', '\u0430', '０', '\u0000', '.']) + a.slice(at + 1);
  },
};
for (const [kind, change] of Object.entries(changes)) {
  for (let i = 0; i < 100; i++) {
    const address = change(ethers.getAddress(`0x${letters(HEX, 40)}`));
    write({ op: 'checksum', kind, input: { address }, ethers: or(() => ethers.getAddress(address)), viem: viem.isAddress(address) ? viem.getAddress(address) : null });
  }
}

// Amounts: both libraries write exact decimals; ethers adds ".0" to whole numbers.
const UNITS = { wei: 0, kwei: 3, mwei: 6, gwei: 9, szabo: 12, finney: 15, ether: 18, kether: 21, mether: 24, gether: 27, tether: 30 };
const NASTY = ['', '.', '-', '-.', '+1', '--1', '1-', '1e18', '1E3', '1.2.3', '1..2', ' 1', '1 ', '1 000', '1,000', '1_000', '\u0661', '１', 'NaN', 'Infinity', '-0', '-0.0', '.5', '5.', '-.5', '007', '00.700', '0', '0.0', '0x10', '0X10', '0b1', '0o7', '1n'];
const digits = (n) => letters('0123456789', n);
const decimal = () => (maybe(0.2, () => '-') ?? '') + digits(1 + below(40)) + (maybe(0.6, () => `.${digits(1 + below(40))}`) ?? '');
function convert(value) {
  const from = pick(Object.keys(UNITS));
  const to = pick(Object.keys(UNITS));
  const shift = UNITS[to] - UNITS[from];
  write({
    op: 'convert',
    input: { value, from, to },
    ethers: or(() => ethers.formatUnits(ethers.parseUnits(value, 40), 40 + shift).replace(/\.0$/, '')),
    viem: or(() => viem.formatUnits(viem.parseUnits(value, 40), 40 + shift)),
  });
}
for (let i = 0; i < 3000; i++) convert(decimal());
for (let i = 0; i < 300; i++) convert(digits(80));
for (const value of NASTY) for (let i = 0; i < 3; i++) convert(value);

// Function signatures that both libraries parse, and sloppily written ones, which viem refuses.
const NAME = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$';
const name = () => `n_${letters(`${NAME}0123456789`, below(10))}`; // no keyword begins like this
const elementary = () =>
  pick([
    () => pick(['address', 'bool', 'string', 'bytes', 'uint', 'int', 'uint256', 'int256']),
    () => pick(['uint', 'int']) + 8 * (1 + below(32)),
    () => `bytes${1 + below(32)}`,
  ])();
const dimensions = () => maybe(0.3, () => some(1 + below(3), () => pick(['[]', `[${1 + below(20)}]`, `[${below(1000)}]`])).join('')) ?? '';
const parameter = (depth, words) => {
  const type = depth < 3 && share() < 0.25 ? `(${parameters(1 + below(3), depth + 1, [])})` : elementary();
  return type + dimensions() + (words.length > 0 && share() < 0.3 ? ` ${pick(words)}` : '') + (maybe(0.5, () => ` ${name()}`) ?? '');
};
const parameters = (n, depth, words) => some(n, () => parameter(depth, words)).join(pick([', ', ',']));
const fragments = {
  function: () => `function ${name()}(${parameters(below(5), 0, [])})${pick(['', ' external', ' public view', ' external payable', ' view returns (uint256)', ' pure returns (bytes n_a, (bool n_b) n_c)'])}`,
  event: () => `event ${name()}(${parameters(below(4), 0, ['indexed'])})`,
  error: () => `error ${name()}(${parameters(below(4), 0, [])})`,
};
const readers = {
  function: (f) => ({ signature: f.format('sighash'), topic0: ethers.id(f.format('sighash')), selector: f.selector }),
  event: (f) => ({ signature: f.format('sighash'), topic0: f.topicHash, selector: f.topicHash.slice(0, 10) }),
  error: (f) => ({ signature: f.format('sighash'), topic0: ethers.id(f.format('sighash')), selector: f.selector }),
};
function byViem(text) {
  const item = viem.parseAbiItem(text);
  const signature = (item.type === 'event' ? viem.toEventSignature(item) : viem.toFunctionSignature(item)).replace(/^error /, '');
  return { signature, topic0: viem.toFunctionHash(signature), selector: viem.toFunctionSelector(signature) };
}
const byEthers = (text) => {
  const fragment = ethers.Fragment.from(text);
  return readers[fragment.type](fragment);
};
const select = (kind, signature) => write({ op: 'selector', kind, input: { signature }, ethers: or(() => byEthers(signature)), viem: or(() => byViem(signature)) });
const CHARACTERS = [...'(),[] 0123456789uintbyesx;', 'tuple', ' indexed', ' memory', '\u0430', '\u0000', '\n', '.'];
const edits = [
  (c) => c.splice(below(c.length + 1), 0, pick(CHARACTERS)),
  (c) => c.splice(below(c.length), 1),
  (c) => c.splice(below(c.length), 1, pick(CHARACTERS)),
];
const BROKEN = [
  '', '(', '()', 'f', 'f(', 'f()', 'function', 'function f', 'function f(', 'function ()', 'function 1f()', 'function f(uint256,)', 'function f(,)', 'function f(uint256[01])',
  'function f(uint256[0])', 'function f(uint256[-1])', 'function f(uint256[1e3])', 'function f(uint256[][)', 'function f(());', 'function f(())', 'function f(uint7)', 'function f(uint08)',
  'function f(uint264)', 'function f(bytes0)', 'function f(bytes33)', 'function f(bytes032)', 'function f(IERC20 n_a)', 'function f(address uint256)', 'function f(uint256 n_a n_b)',
  'function f(uint256 256)', 'function f(uint256 indexed n_a)', 'error f(uint256 indexed n_a)', 'function f(string memory n_a)', 'function f(string calldata)', 'function f(address payable n_a)',
  'function f(address payable[] n_a)', 'function f(uint256) onlyOwner', 'function f(uint256) returns', 'function f(uint256) returns (uint7)', 'function f(uint256);', 'function f(uint256) {}',
  'function f(byte)', 'function f(fixed)', 'function f(ufixed128x18)', 'function f(function)', 'function f(mapping(uint256 => uint256))', 'function f(tuple)', 'function f(Uint256)', 'function f(address20)',
  'function f(uint256 tuple)', 'event f((uint256 indexed n_a) n_b)', 'constructor(uint256)', 'fallback()', 'receive() external payable', 'event f(uint256) anonymous', 'struct f { uint256 n_a; }',
];
for (const signature of BROKEN) select('broken', signature);
for (let i = 0; i < 1000; i++) {
  for (const make of Object.values(fragments)) {
    const signature = make();
    select('read', signature);
    if (i % 2 === 0) select('loose', signature.replaceAll('(', pick(['(', '( ', ' ('])).replaceAll(',', pick([',', ' ,\n'])).replaceAll('[', pick(['[', ' [ '])).replace(/([(,] *)\(/g, '$1tuple('));
    const characters = [...signature];
    for (let n = 1 + below(2); n > 0; n--) pick(edits)(characters);
    select('edited', characters.join(''));
  }
}

// Texts and bytes.
const CODE_POINTS = [0x20, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff];
const text = () => String.fromCodePoint(...some(below(60), () => pick([() => below(0x80), () => 0xe000 + below(0x100000), () => pick(CODE_POINTS)])()));
for (let i = 0; i < 500; i++) {
  const t = pick([text, () => `0x${letters(HEX, below(40))}`])();
  write({ op: 'keccak', input: { text: t, encoding: 'utf8' }, ethers: ethers.id(t), viem: viem.keccak256(viem.stringToBytes(t)) });
  const bytes = `0x${letters(HEX, 2 * below(100))}`;
  write({ op: 'keccak', input: { text: bytes, encoding: 'hex' }, ethers: ethers.keccak256(bytes), viem: viem.keccak256(bytes) });
}

// Signed messages, with signatures in all forms.
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const word = (n) => n.toString(16).padStart(64, '0');
const forms = {
  'v 27 or 28': (s) => s.serialized,
  'v 0 or 1': (s) => `${s.r}${s.s.slice(2)}0${s.yParity}`,
  compact: (s) => s.compactSerialized,
  'high s': (s) => `${s.r}${word(ORDER - BigInt(s.s))}${s.yParity ? '1b' : '1c'}`,
  'other v': (s) => `${s.r}${s.s.slice(2)}${s.yParity ? '1b' : '1c'}`,
  'v of EIP-155': (s) => `${s.r}${s.s.slice(2)}${s.yParity ? '26' : '25'}`,
  'bit changed': (s) => {
    const bytes = ethers.getBytes(s.serialized);
    bytes[below(64)] ^= 1 << below(8);
    return ethers.hexlify(bytes);
  },
  short: (s) => s.serialized.slice(0, -2),
  long: (s) => `${s.serialized}00`,
  'zero r': (s) => `0x${word(0n)}${s.s.slice(2)}1b`,
  'zero s': (s) => `${s.r}${word(0n)}1b`,
  'order as r': (s) => `0x${word(ORDER)}${s.s.slice(2)}1b`,
};
const wallets = some(8, (_, i) => new ethers.Wallet(ethers.id(`wallet ${i}`)));
for (let i = 0; i < 100; i++) {
  for (const [kind, form] of Object.entries(forms)) {
    const encoding = pick(['utf8', 'hex']);
    const message = encoding === 'hex' ? `0x${letters(HEX, 2 * below(60))}` : pick([text, () => `0x${letters(HEX, below(40))}`])();
    const bytes = encoding === 'hex' ? ethers.getBytes(message) : ethers.toUtf8Bytes(message);
    const signature = form(ethers.Signature.from(await pick(wallets).signMessage(bytes)));
    const address = pick(wallets).address;
    const hash = ethers.hashMessage(bytes);
    let byViem = null;
    try {
      byViem = await viem.recoverAddress({ hash, signature });
    } catch {
      // refused
    }
    write({ op: 'verify', kind, input: { message, encoding, signature, address }, ethers: or(() => ethers.verifyMessage(bytes, signature)), viem: byViem });
  }
}
