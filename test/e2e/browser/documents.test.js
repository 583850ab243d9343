// Documents: the terms, and the interface, both in its viewer and without scripts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gateway, launch, look, open, person, textOf } from './browser.js';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// Rules that the viewer's own markup violates: its headings skip a level, its rows have nested
// buttons, and parts of it are outside of the main landmark.
const viewers = ['heading-order', 'nested-interactive', 'region'];

test('the terms are a page like the others', async () => {
  const who = await person(browser);
  assert.equal((await open(who, '/terms')).status(), 200);
  assert.match(await textOf(who), /Terms of use\s+Version \d{4}-\d\d-\d\d/);
  await look(who, 'terms');
});

test('configurations of agents are there to copy, and without scripts to select', async () => {
  const who = await person(browser);
  assert.equal((await open(who, '/docs/agents')).status(), 200);
  await who.page.locator('button[data-copy="cursor"]').click();
  await who.page.waitForSelector('button[data-copy="cursor"] ::-p-text(Copied)');
  const copied = JSON.parse(await who.page.evaluate(() => navigator.clipboard.readText()));
  assert.deepEqual(Object.values(copied.mcpServers), [{ url: `${gateway}/mcp` }]);
  await look(who, 'docs-agents');

  const plain = await person(browser, { javaScript: false });
  await open(plain, '/docs/agents');
  assert.ok((await textOf(plain)).includes('claude mcp add --transport http'));
  await look(plain, 'docs-agents-plain');
});

test('the interface is a list without scripts', async () => {
  const who = await person(browser, { javaScript: false });
  await open(who, '/docs');
  const text = await textOf(who, '#index');
  for (const route of ['POST /rpc/{chain}', 'POST /keys', 'POST /agents/adopt', 'GET /docs/methods']) assert.ok(text.includes(route), route);
  await look(who, 'docs-list');
});

test('the viewer shows the interface, asks no other host, and lets a call be tried', async () => {
  const who = await person(browser);
  const { page } = who;
  await open(who, '/docs');
  assert.equal(await page.$('.swagger-ui'), null);
  await look(who, 'docs-before');
  await page.locator('#open').click();
  await page.waitForSelector('#operations-Relay-rpc');
  assert.equal(await page.$eval('#index', (e) => e.hidden), true);
  await page.locator('#operations-Relay-rpc .opblock-summary-control').click();
  await page.waitForSelector('#operations-Relay-rpc .responses-table');
  await look(who, 'docs', { except: viewers });

  await page.locator('#operations-Health-health .opblock-summary-control').click();
  await page.locator('#operations-Health-health .try-out__btn').click();
  await page.locator('#operations-Health-health .execute').click();
  await page.waitForSelector('#operations-Health-health .live-responses-table');
  assert.match(await textOf(who, '#operations-Health-health .live-responses-table'), /200[^]*"status": "ok"/);
  assert.deepEqual(who.wrong, []);
});

test('an address cannot make the viewer show another document', async () => {
  const who = await person(browser);
  await open(who, `/docs?url=${encodeURIComponent('https://elsewhere.example/openapi.json')}`);
  await who.page.locator('#open').click();
  await who.page.waitForSelector('#operations-Relay-rpc');
  assert.deepEqual(who.wrong, []);
  assert.equal(await who.page.$eval('.swagger-ui .info a.link .url, .swagger-ui .info .url', (e) => e.innerText), '/openapi.json');
});

test('the switch of themes holds for documents and the console', async () => {
  for (const javaScript of [true, false]) {
    const who = await person(browser, { javaScript });
    await open(who, '/docs/errors');
    for (const theme of ['dark', 'light', 'auto']) {
      await Promise.all([who.page.waitForNavigation(), who.page.click(`.foot button[value="${theme}"]`)]);
      const now = await who.page.$eval('html', (e) => e.getAttribute('data-theme') ?? 'auto');
      assert.deepEqual([new URL(who.page.url()).pathname, now], ['/docs/errors', theme]);
      assert.equal(await who.page.$eval('.foot [aria-pressed=true]', (e) => e.value), theme);
    }
    await Promise.all([who.page.waitForNavigation(), who.page.click('.foot button[value="dark"]')]);
    await open(who, '/pricing');
    assert.equal(await who.page.$eval('html', (e) => e.dataset.theme), 'dark');
    await who.context.close();
  }
});
