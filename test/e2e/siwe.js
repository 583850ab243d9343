// Writes how npm siwe treats some thousand sign-in messages, as one JSON object per line.
// siwe_test.go compares package wallet with it.
//
//   node siwe.js SEED
//       {"kind":"…","message":"…","fields":{…} or null}   for a message that is parsed
//       {"kind":"…","message":"…","signature":"0x…","time":"…","valid":true}   for a signed one
import { Signature, Wallet, getBytes, hexlify, keccak256, toUtf8Bytes } from 'ethers';
import { SiweMessage } from 'siwe';
import { random, write } from './random.js';

console.error = () => {}; // siwe reports there which signatures it cannot parse

const { share, below, pick, maybe, some, letters } = random(Number(process.argv[2] ?? 1));

const ALPHANUMERIC = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const STATEMENT = `${ALPHANUMERIC} -._~:/?#[]@!$&'()*+,;=`;
const PCHAR = `${ALPHANUMERIC}-._~!$&'()*+,;=:@`;
const HOSTS = ['a.example', 'localhost', '127.0.0.1', '[::1]', '[2001:db8::7]', '[::ffff:192.0.2.1]', '[1:2:3:4:5:6:7:8]', 'xn--bcher-kva.example', '%66.example', '1.2.3', 'a_b.example', '[v1.x]'];
const wallets = some(8, (_, i) => new Wallet(keccak256(toUtf8Bytes(`wallet ${i}`))));

const authority = () => (maybe(0.15, () => `${letters(`${ALPHANUMERIC}:%20`.replace('%', ''), below(6))}@`) ?? '') + pick(HOSTS) + (maybe(0.3, () => `:${below(70000)}`) ?? '');
const path = () => some(below(4), () => `/${letters(PCHAR, below(8))}`).join('') + (maybe(0.2, () => '%2F') ?? '');
const uri = () =>
  pick([
    () => `https://${authority()}${path().replace(/^%2F$/, '')}${maybe(0.3, () => `?${letters(`${PCHAR}/?`, below(8))}`) ?? ''}${maybe(0.2, () => `#${letters(`${PCHAR}/?`, below(8))}`) ?? ''}`,
    () => `did:key:z${letters(ALPHANUMERIC, 20)}`,
    () => `urn:recap:${letters(ALPHANUMERIC, 30)}`,
    () => `ipfs://${letters(ALPHANUMERIC, 40)}/`,
    () => `mailto:${letters(ALPHANUMERIC, 5)}@a.example`,
    () => 'file:///etc',
  ])();
const pad = (n, digits = 2) => String(n).padStart(digits, '0');
const instant = () =>
  `${2000 + below(50)}-${pad(1 + below(12))}-${pad(1 + below(28))}${pick('TTTt')}${pad(below(24))}:${pad(below(60))}:${pad(below(60))}${maybe(0.6, () => `.${letters('0123456789', 1 + below(12))}`) ?? ''}${pick(['Z', 'Z', 'z', '+02:00', '-11:30', '+00:00', '-00:00'])}`;

const fields = () => ({
  scheme: maybe(0.3, () => pick(['https', 'http', 'a', 'x-1.y+z'])),
  domain: authority(),
  address: pick(wallets).address,
  statement: maybe(0.6, () => letters(STATEMENT, 1 + below(60))),
  uri: uri(),
  version: '1',
  chainId: pick([1, 10, 137, 8453, 42161, 0, below(2 ** 31)]),
  nonce: letters(ALPHANUMERIC, 8 + below(24)),
  issuedAt: instant(),
  expirationTime: maybe(0.5, instant),
  notBefore: maybe(0.3, instant),
  requestId: maybe(0.3, () => letters(PCHAR, below(20))),
  resources: maybe(0.4, () => some(below(5), uri)),
});

// render is independent of siwe's own, which omits empty values and refuses invalid ones.
function render(f) {
  const optional = (name, value) => (value === undefined ? '' : `\n${name}: ${value}`);
  return (
    `${f.scheme === undefined ? '' : `${f.scheme}://`}${f.domain} wants you to sign in with your Ethereum account:\n${f.address}\n\n` +
    `${f.statement === undefined ? '' : `${f.statement}\n`}\nURI: ${f.uri}\nVersion: ${f.version}\nChain ID: ${f.chainId}\nNonce: ${f.nonce}\nIssued At: ${f.issuedAt}` +
    `${optional('Expiration Time', f.expirationTime)}${optional('Not Before', f.notBefore)}${optional('Request ID', f.requestId)}` +
    (f.resources === undefined ? '' : `\nResources:${f.resources.map((r) => `\n- ${r}`).join('')}`)
  );
}

// Values for a field, valid and invalid.
const NASTY = {
  scheme: ['', '1a', 'a_b', 'https:', 'a b', 'é', 'A', 'h+t-t.p'],
  domain: ['', ' ', 'a b', 'a/b', 'a?b', 'a#b', 'a@b@c', '@', 'u@', ':80', 'a:', 'a:b', '[::1', '::1', '[::1]x', '[::1]:', '[1::2::3]', '[1:2:3:4:5:6:7:8:9]', '[1:2:3:4:5:6:7::]', '[::2:3:4:5:6:7:8]', '[1:2:3:4:5:6:7:8::]', '[::]', '[fe80::1%25lo]', '[12345::]', '[127.0.0.1]', '[::256.0.0.1]', '[::01.2.3.4]', '[::1.2.3]', '[1.2.3.4::]', '[::1.2.3.4:5]', '[1:2:3:4:5:6:7.8.9.10]', '[1:2:3:4:5:6:7:8.9.10.11]', '[v1]', '[vg.a]', '[V1.a]', '[v1.]', '256.1.1.1', '01.2.3.4', '%', '%g0', '%00', 'ｅxample', 'ex\u0430mple', 'e\u0301x', 'a\u200bb', 'a\u0000b', 'a\tb', 'a\rb', '<a>', 'a\\b', "a!$&'()*+,;=b", 'a..b', '-', '.'],
  address: ['', '0x', '0x0', '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', '0xF39FD6E51AAD88F6F4CE6AB8827279CFFFB92266', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92267', '0Xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'f39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb922660', '0x0000000000000000000000000000000000000000', '0x52908400098527886E0F7030069857D2E4169EE7', '0xde709f2102306220921060314715629080e2fb77', 'a.eth'],
  statement: ['', ' ', '\n', 'a\nb', 'a"b', 'a%b', 'a<b', 'a\\b', 'a^b', 'a`b', 'a{b', 'a|b', 'a~b', 'é', 'a\tb', 'a\rb', '\u2028', 'URI: a:b', ' a ', '[a]'],
  uri: ['', 'a', 'a:', ':a', '/a', '//a', 'a:b c', 'a:%zz', 'a:%7', 'a:%7e', 'a://', 'a:///', 'a://:80', 'a://b:c', 'a://[::1]', 'a://[::1', 'a://u@h', 'a://u@v@h', 'a:b#c#d', 'a:b#c?d', 'a:b?c?d', 'a:?', 'a:#', 'a:[b]', 'a:b[c]', 'a:?[c]', 'a:#[c]', '1a:b', 'a+:b', 'a_:b', 'a:é', 'a:\u0430', 'https://ex\u0430mple/', 'a:<b>', 'a:"b"', 'a:b\\c', 'a:b|c', 'a:b^c', 'a:`b`', 'a:{b}', 'a://b//c', 'a:b//c', 'a:/b', 'a:\u0000', 'a://1.2.3.256', 'a://%66', 'a://b%2', 'a:@', 'a::', "a:!$&'()*+,;="],
  version: ['', '0', '2', '01', '1.0', '1 ', '11', 'one', '１'],
  chainId: ['', '-1', '+1', '0x1', '1.0', '1e3', ' 1', '1 ', 'one', '١', '00', '01', '007', '9007199254740993', '18446744073709551615', '18446744073709551616', '99999999999999999999999'],
  nonce: ['', 'a', 'abcdefg', 'abcdefgh', 'abcd efgh', 'abcd-efgh', 'abcd_efgh', 'abcdefg\u0430', 'a'.repeat(256), 'a'.repeat(257), 'a'.repeat(1000)],
  issuedAt: ['', 'now', '0', '2024-01-01', '2024-01-01T00:00:00', '2024-01-01 00:00:00Z', '2024-1-1T0:0:0Z', '2024-02-29T00:00:00Z', '2023-02-29T00:00:00Z', '2024-02-30T00:00:00Z', '2024-04-31T00:00:00Z', '1900-02-29T00:00:00Z', '2000-02-29T00:00:00Z', '2024-00-01T00:00:00Z', '2024-13-01T00:00:00Z', '2024-01-00T00:00:00Z', '2024-01-32T00:00:00Z', '2024-01-01T24:00:00Z', '2024-01-01T00:60:00Z', '2024-01-01T00:00:60Z', '2016-12-31T23:59:60Z', '2017-01-01T05:29:60+05:30', '2016-12-31T23:59:61Z', '2016-12-31T23:59:60+01:00', '2024-01-01T00:00:00+24:00', '2024-01-01T00:00:00+23:59', '2024-01-01T00:00:00-23:59', '2024-01-01T00:00:00+00:60', '2024-01-01T00:00:00+0000', '2024-01-01T00:00:00+00', '2024-01-01T00:00:00.Z', '2024-01-01T00:00:00,1Z', `2024-01-01T00:00:00.${'1'.repeat(40)}Z`, `2024-01-01T00:00:00.${'1'.repeat(80)}Z`, '0000-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '10000-01-01T00:00:00Z', '+2024-01-01T00:00:00Z', '2024-01-01T00:00:00 Z', '2024-01-01T00:00:00|00:00', '2024-W01-1T00:00:00Z'],
  requestId: ['', ' ', 'a b', 'a/b', 'a?b', 'a#b', 'a%b', 'a%20b', 'é', 'a\nb', '"', PCHAR],
  resources: [[], [''], ['a'], ['a:'], ['a:b', ''], ['a b:c'], ['a:b', 'c:d\n- e:f'], [' a:b'], ['a:b '], ['https://ex\u0430mple']],
};
NASTY.expirationTime = NASTY.issuedAt;
NASTY.notBefore = NASTY.issuedAt;

// Characters that random edits insert into a text.
const CHARACTERS = [...`${STATEMENT}"%<>\\^\`{|}\n\n\n`, '\r', '\t', '\u0000', '\u007f', '\u0085', 'é', '\u0430', '\u200b', '\u2028', '\ufeff', '😀'];
const edits = [
  (c) => c.splice(below(c.length + 1), 0, pick(CHARACTERS)),
  (c) => c.splice(below(c.length), 1),
  (c) => c.splice(below(c.length), 1, pick(CHARACTERS)),
  (c) => c.splice(below(c.length)),
  (c) => {
    const i = below(c.length - 1);
    [c[i], c[i + 1]] = [c[i + 1], c[i]];
  },
  (c) => {
    const i = below(c.length);
    c[i] = c[i] === c[i].toLowerCase() ? c[i].toUpperCase() : c[i].toLowerCase();
  },
];
function edited(text) {
  if (share() < 0.3) {
    const lines = text.split('\n');
    pick([
      () => lines.splice(below(lines.length), 1),
      () => lines.splice(below(lines.length), 0, pick(lines)),
      () => lines.splice(below(lines.length + 1), 0, ''),
      () => {
        const [i, j] = [below(lines.length), below(lines.length)];
        [lines[i], lines[j]] = [lines[j], lines[i]];
      },
      () => lines.push(pick(['', 'Resources:', '- a:b', 'Request ID: 1', 'Not Before: 2024-01-01T00:00:00Z'])),
    ])();
    return lines.join('\n');
  }
  const characters = [...text];
  for (let n = 1 + below(2); n > 0 && characters.length > 1; n--) pick(edits)(characters);
  return characters.join('');
}

function read(kind, message) {
  let parsed = null;
  try {
    const { scheme, domain, address, statement, uri: target, chainId, nonce, issuedAt, expirationTime, notBefore, requestId, resources } = new SiweMessage(message);
    parsed = { scheme, domain, address, statement, uri: target, chainId, nonce, issuedAt, expirationTime, notBefore, requestId, resources };
  } catch {
    // refused
  }
  write({ kind, message, fields: parsed });
}

for (let i = 0; i < 1500; i++) read('made', render(fields()));
for (const [name, values] of Object.entries(NASTY)) {
  for (const value of values) for (let i = 0; i < 3; i++) read(`field ${name}`, render({ ...fields(), [name]: value }));
}
read('long', render({ ...fields(), statement: 'a'.repeat(20_000) }));
for (let i = 0; i < 3000; i++) read('edited', edited(render(fields())));

// Signatures: with times in the common form, which both implementations parse alike.
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
    const bytes = getBytes(s.serialized);
    bytes[below(64)] ^= 1 << below(8);
    return hexlify(bytes);
  },
  short: (s) => s.serialized.slice(0, -2),
  long: (s) => `${s.serialized}00`,
  'zero r': (s) => `0x${word(0n)}${s.s.slice(2)}1b`,
  'zero s': (s) => `${s.r}${word(0n)}1b`,
  'order as r': (s) => `0x${word(ORDER)}${s.s.slice(2)}1b`,
  empty: () => '0x',
  'no 0x': (s) => s.serialized.slice(2),
};
const kinds = Object.keys(forms);
for (let i = 0; i < 700; i++) {
  const now = 1_700_000_000_000 + below(1e9);
  const around = () => new Date(now + pick([-1e8, -1000, -1, 0, 1, 1000, 1e8])).toISOString();
  const f = { ...fields(), issuedAt: new Date(now - below(1e6)).toISOString(), expirationTime: maybe(0.5, around), notBefore: maybe(0.4, around) };
  if (f.requestId === '') delete f.requestId; // siwe does not write it again, and so verifies another text
  const owner = wallets.find((w) => w.address === f.address);
  const signer = share() < 0.1 ? pick(wallets) : owner;
  const message = render(f);
  const kind = share() < 0.4 ? kinds[0] : kinds[i % kinds.length];
  const signature = forms[kind](Signature.from(await signer.signMessage(message)));
  const verdict = await new SiweMessage(message).verify({ signature, time: new Date(now).toISOString() }, { suppressExceptions: true });
  write({ kind, message, signature, time: new Date(now).toISOString(), valid: verdict.success });
}
