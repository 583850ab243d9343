// Follows every link of the public pages and of a used console, each page without a cache, and
// checks it against a budget: bytes on the wire, requests, layout shift. A broken link fails too,
// and so does a request to another host.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { follow, gateway, launch, open, person, signIn } from './browser.js';

// bytes are counted on the wire, including headers.
const budget = { bytes: 150_000, requests: 12, shift: 0.1, elements: 6_000 };

// Paths that a reader does not follow: actions, other origins, and the mails of this machine.
const left = /^\/(dev|assets)\//;
const mostPages = 300;

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// Returns what loading a path costs.
async function measure(page, cdp, path) {
  let bytes = 0;
  let requests = 0;
  const finished = ({ encodedDataLength }) => { bytes += encodedDataLength; requests += 1; };
  cdp.on('Network.loadingFinished', finished);
  try {
    const answer = await page.goto(gateway + path, { waitUntil: 'networkidle0' });
    const seen = await page.evaluate(() => ({
      shift: performance.getEntriesByType('layout-shift').reduce((sum, entry) => sum + (entry.hadRecentInput ? 0 : entry.value), 0),
      elements: document.querySelectorAll('*').length,
      links: [...document.querySelectorAll('a[href]')].map((a) => a.href),
      title: document.title,
      heads: document.querySelectorAll('h1').length,
    }));
    return { status: answer.status(), bytes, requests, ...seen };
  } finally {
    cdp.off('Network.loadingFinished', finished);
  }
}

// Lists the parts of the budget that a page exceeds.
function over(path, of) {
  const most = budget;
  return ['bytes', 'requests', 'shift', 'elements'].filter((what) => of[what] > most[what]).map((what) => `${what}: ${of[what]} of ${most[what]}`);
}

// Follows links from the given paths, as the person who is signed in, and returns the visited paths
// and the errors.
async function crawl(who, from) {
  const { page } = who;
  await page.setCacheEnabled(false);
  await page.evaluateOnNewDocument(() => new PerformanceObserver(() => {}).observe({ type: 'layout-shift', buffered: true }));
  const cdp = await page.createCDPSession();
  await cdp.send('Network.enable');
  const cookie = (await who.context.cookies()).map((c) => `${c.name}=${c.value}`).join('; ');
  const visited = new Map();
  const wrong = [];
  const waiting = from.map((path) => ({ path, by: 'the start' }));
  for (let next = waiting.shift(); next && visited.size < mostPages; next = waiting.shift()) {
    const { path, by } = next;
    if (visited.has(path)) continue;
    visited.set(path, null);
    // Responses that are not pages, such as documents for programs and downloads, are requested but
    // not shown.
    const head = await fetch(gateway + path, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' });
    await head.body?.cancel();
    if (head.status >= 400) wrong.push(`${path}, linked by ${by}, answers ${head.status}`);
    if (head.status !== 200 || !head.headers.get('content-type')?.startsWith('text/html')) continue;
    const of = await measure(page, cdp, path);
    visited.set(path, of);
    wrong.push(...over(path, of).map((what) => `${path}: ${what}`));
    if (of.heads !== 1) wrong.push(`${path} has ${of.heads} headings of the first level`);
    for (const link of of.links) {
      const url = new URL(link);
      if (url.origin === gateway && !left.test(url.pathname)) waiting.push({ path: url.pathname + url.search, by: path });
    }
  }
  await page.setCacheEnabled(true);
  return { visited, wrong: [...wrong, ...who.wrong] };
}

function told(visited) {
  const pages = [...visited].filter(([, of]) => of).sort(([, a], [, b]) => b.bytes - a.bytes);
  return pages.slice(0, 5).map(([path, of]) => `${path}: ${of.bytes} bytes, ${of.requests} requests`).join('\n');
}

test('public pages stay within their budget, and their links lead somewhere', async (t) => {
  const { visited, wrong } = await crawl(await person(browser), ['/']);
  t.diagnostic(`${visited.size} links, the largest pages:\n${told(visited)}`);
  assert.deepEqual(wrong, []);
  for (const path of ['/toolbox', '/docs', '/docs/agents', '/pricing', '/status', '/sign-in', '/terms']) {
    assert.ok(visited.has(path), `nothing leads to ${path}`);
  }
});

test('pages of a console in use stay within their budget, and their links lead somewhere', async (t) => {
  const who = await person(browser);
  await open(who, '/');
  await signIn(who, 'pages@harbour-data.example');
  await open(who, '/keys/new');
  await who.page.type('#name', 'Indexer');
  await follow(who, 'Create key');
  const key = await who.page.$eval('#secret', (e) => e.textContent);
  for (const method of ['eth_blockNumber', 'eth_chainId', 'eth_noSuchMethod']) {
    await fetch(`${gateway}/rpc/eth_mainnet`, {
      method: 'POST', headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }),
    });
  }
  await open(who, '/tickets/new');
  await who.page.type('#subject', 'Which blocks are final?');
  await who.page.type('#message', 'On Polygon, that is.');
  await follow(who, 'File ticket');
  const { visited, wrong } = await crawl(who, ['/overview']);
  t.diagnostic(`${visited.size} links, the largest pages:\n${told(visited)}`);
  assert.deepEqual(wrong, []);
  for (const path of ['/overview', '/usage', '/keys', '/agents', '/billing', '/statements', '/tickets', '/feedback', '/settings', '/settings/audit']) {
    assert.ok(visited.get(path), `nothing leads to ${path}`);
  }
});
