// A visitor without an account: a key by one click, a call with the page's command, the prices of a
// volume, and the documents.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { follow, gateway, launch, look, open, person, press, textOf } from './browser.js';

const shell = promisify(execFile);

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

test('a visitor makes a key and a first call', async (t) => {
  const who = await person(browser);
  const { page } = who;
  let key;

  await t.test('one button makes a key, which is shown once', async () => {
    await open(who, '/');
    const [answer] = await Promise.all([page.waitForNavigation({ waitUntil: 'load' }), page.click('form[action="/first-key"] button')]);
    assert.deepEqual([answer.status(), answer.headers()['cache-control']], [201, 'no-store']);
    key = await page.$eval('#secret', (e) => e.textContent);
    assert.match(key, /^cag_[0-9A-Za-z]{49}$/);
    assert.equal(new URL(page.url()).pathname, '/', 'loaded again, the page makes no other key');
    await page.click('button[data-copy="secret"]');
    await page.waitForFunction(() => document.querySelector('.secret [data-said]').textContent === 'Copied');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
    await look(who, 'home-key');
  });

  await t.test('the command beside it works as it stands', async () => {
    const command = await page.$eval('#first-call-command', (e) => e.textContent);
    const { stdout } = await shell('sh', ['-c', `${command} -s`]);
    assert.match(JSON.parse(stdout).result, /^0x[1-9a-f]/);
  });

  await t.test('afterwards the key is nowhere', async () => {
    await follow(who, 'I have stored it');
    assert.ok(!(await page.content()).includes(key));
    await page.goBack({ waitUntil: 'load' });
    assert.ok(!(await page.content()).includes(key), 'the browser kept the page');
    const cookies = await who.context.cookies();
    assert.ok(!JSON.stringify(cookies).includes(key));
  });
  assert.deepEqual(who.wrong, []);
  await who.context.close();
});

test('a volume is priced without scripts, and what is wrong with it is told at its field', async () => {
  const who = await person(browser, { javaScript: false });
  const { page } = who;
  await open(who, '/');
  await press(who, '.bar-links a[href="/pricing"]');
  assert.match(await textOf(who), /10,000,000 units a month/);
  await look(who, 'pricing-plain');
  await page.focus('#units');
  await page.keyboard.down('Control');
  await page.keyboard.press('a');
  await page.keyboard.up('Control');
  await page.keyboard.type('60,000,000');
  await follow(who, 'Calculate');
  const row = await page.$$eval('.ladder tr', (rows) => rows.map((r) => r.innerText).find((text) => text.startsWith('Scale by the year')));
  assert.match(row, /cheapest[^]*\$249\.17/);
  await open(who, '/pricing?units=a%20lot');
  assert.match(await page.$eval('#units-error', (e) => e.textContent), /whole number/);
  await who.context.close();

  const scripted = await person(browser);
  await open(scripted, '/pricing?units=a%20lot');
  await look(scripted, 'pricing-refused');
  await open(scripted, '/pricing');
  await look(scripted, 'pricing');
  await scripted.context.close();
});

test('documents have the colours that were chosen in the console, and lead to each other', async () => {
  const who = await person(browser);
  const { page } = who;
  await open(who, '/');
  const saved = page.waitForResponse((r) => r.url() === `${gateway}/theme`);
  await page.click('form[data-theme-switch] button[value=dark]');
  await saved;
  await press(who, '.bar-links a[href="/docs/quickstart"]');
  assert.equal(await page.$eval('body', (e) => getComputedStyle(e).backgroundColor), 'rgb(16, 18, 20)');
  await press(who, '.side a[href="/docs/errors"]');
  await press(who, 'main a[href="/docs/errors/-32017"]');
  assert.match(await textOf(who), /-32017 Submission outcome unknown/);
  assert.equal(await page.$eval('.side [aria-current]', (e) => e.textContent), 'Error codes');
  await who.context.close();
});

test('quick starts, codes and paying per call are pages like the others', async () => {
  const who = await person(browser);
  for (const path of ['quickstart', 'errors', 'errors/-32017', 'errors/-32600', 'errors/-32028', 'pay-per-call']) {
    assert.equal((await open(who, `/docs/${path}`)).status(), 200);
    await look(who, `docs-${path.replace('/', '')}`);
  }
  const missing = await open(who, '/docs/errors/-1');
  assert.equal(missing.status(), 404);
  assert.match(await textOf(who), /There is no such page/);
  await who.context.close();
});
