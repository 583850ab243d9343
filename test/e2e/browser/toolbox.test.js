// The toolbox page: every tool by its form and by its command, as a visitor, by keyboard, and
// without JavaScript.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '../wait.js';
import { click, gateway, launch, look, open, person, press, textOf } from './browser.js';

if (!process.env.API_KEY) throw new Error('set API_KEY: see README.md');

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// Runs a command of the page as people do: pasted into a shell with a key.
async function shell(command) {
  const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --silent --show-error --max-time 30`], { env: { PATH: process.env.PATH, API_KEY: process.env.API_KEY } });
  return JSON.parse(stdout);
}

const commandOf = ({ page }, tool) => page.$eval(`#${tool}-curl`, (e) => e.textContent);
const toolsOf = ({ page }, selector) => page.$$eval(`article.tool${selector}`, (all) => all.map((e) => e.id));

// Waits for the outcome of a use: an answer or a refusal.
const outcomeOf = ({ page }, tool) => page.waitForSelector(`#${tool} [data-outcome] > *`);

// Runs a tool by its button and returns the answer's JSON; undefined when it was refused.
async function run(who, tool) {
  await who.page.$eval(`#${tool} [data-outcome]`, (e) => { e.textContent = ''; });
  await click(who, `#${tool} form button`);
  await outcomeOf(who, tool);
  const raw = await who.page.$(`#${tool} pre.raw`);
  return raw ? JSON.parse(await raw.evaluate((e) => e.textContent)) : undefined;
}

const type = ({ page }, selector, text) => page.$eval(selector, (e, value) => {
  e.value = value;
  e.dispatchEvent(new Event('input', { bubbles: true }));
}, text);

// Characters that have a special meaning in shells, URLs or JSON.
const hostile = 'a b\'c\'\'"$API_KEY`id`$(id)\\!*[1-3]{a,b}&x=1+2%41#?~@é🦄\u2028<img src=x onerror=alert(1)>';

test('the toolbox', async (t) => {
  const who = await person(browser);
  const { page } = who;
  await open(who, '/toolbox');
  const live = await toolsOf(who, ':has(form)');
  const keyed = await toolsOf(who, ':not(:has(form))');

  await t.test('stands on the first page and in the bar', async () => {
    assert.ok(live.length > 2, `${live.length} tools`);
    await look(who, 'toolbox');
    await open(who, '/');
    assert.equal((await run(who, 'get_gas')).chain, 'eth_mainnet');
    await press(who, '.bar-links a[href="/toolbox"]');
  });

  await t.test('each tool answers its example, and its command answers the same', async () => {
    for (const tool of live) {
      const shown = await run(who, tool);
      assert.ok(shown, `${tool} refuses its own example: ${await textOf(who, `#${tool} [data-outcome]`)}`);
      assert.match(await textOf(who, `#${tool} [data-facts]`), /^Answered in .* ms, (not )?from the cache\. With a key it costs (nothing|\d+ units?)\.$/);
      const answer = await shell(await commandOf(who, tool));
      assert.deepEqual(Object.keys(answer), Object.keys(shown), `${tool}: ${JSON.stringify(answer)}`);
    }
    await look(who, 'toolbox-answers');
  });

  await t.test('tools for paid plans show their commands, which work with a key', async () => {
    for (const tool of keyed) {
      assert.match(await textOf(who, `#${tool}`), /needs the key of an account on a paid plan/);
      const answer = await shell(await commandOf(who, tool));
      assert.equal(answer.error, undefined, `${tool}: ${JSON.stringify(answer)}`);
    }
  });

  await t.test('what is wrong is told at its field, and by keyboard all works', async () => {
    await open(who, '/toolbox');
    await page.focus('#get_tx_status-hash');
    await page.$eval('#get_tx_status-hash', (e) => e.select());
    await page.keyboard.type('0x12');
    assert.match(await commandOf(who, 'get_tx_status'), /\/toolbox\/tx\/eth_mainnet\/0x12'/);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#get_tx_status-hash-error');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'get_tx_status-hash');
    assert.equal(await page.$eval('#get_tx_status-hash', (e) => e.ariaInvalid), 'true');
    assert.match(await textOf(who, '#get_tx_status .notice'), /-32602/);
    assert.equal(await textOf(who, '#get_tx_status [data-said]'), 'Refused. The reason is below.');
    await look(who, 'toolbox-refused');
    // Once corrected, the mistake is no longer shown; the address links to the request.
    await page.$eval('#get_tx_status-hash', (e) => e.select());
    await page.keyboard.type(`0x${'ab'.repeat(32)}`);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#get_tx_status .answer');
    assert.equal(await page.$('#get_tx_status-hash-error'), null);
    assert.match(page.url(), /\/toolbox\?tool=get_tx_status&chain=eth_mainnet&hash=0x(ab){32}#get_tx_status$/);
    await page.reload({ waitUntil: 'load' });
    assert.match(await textOf(who, '#get_tx_status .answer'), /unknown/);
  });

  await t.test('the command is copied', async () => {
    await click(who, '#get_gas button.copy');
    await page.waitForFunction(() => document.querySelector('#get_gas .copy [data-said]').textContent === 'Copied');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await commandOf(who, 'get_gas'));
  });

  await t.test('what comes back is text, whatever it is', async () => {
    const marks = '<img src=x onerror=alert(1)><script>alert(2)</script>{{.}}';
    await type(who, '#hash_keccak-text', `${marks}\u202Eabc`);
    const answer = await run(who, 'hash_keccak');
    assert.equal(answer.input, `${marks}\u202Eabc`);
    assert.equal(await page.$('#hash_keccak :is(img, script)'), null);
    assert.equal(await page.$eval('#hash_keccak .answer bdi', (e) => e.textContent), `${marks}\u202Eabc`);
    // By a link, which anyone may send.
    await open(who, `/toolbox?tool=compute_selector&signature=${encodeURIComponent(`"'>${marks}`)}`);
    assert.equal(await page.$('main :is(img, script)'), null);
    assert.equal(await page.$eval('#compute_selector-signature', (e) => e.value), `"'>${marks}`);
  });

  await t.test('a page that is too old is told so', async () => {
    const old = await person(browser);
    await open(old, '/toolbox');
    await old.context.deleteCookie(...await old.context.cookies());
    await press(old, '#verify_signature form button');
    assert.match(await textOf(old), /This page is too old/);
    await old.context.close();
  });

  await t.test('without JavaScript the page is loaded again with what came of it', async () => {
    const plain = await person(browser, { javaScript: false });
    await open(plain, '/toolbox');
    await plain.page.select('#get_gas-chain', 'base_mainnet');
    await press(plain, '#get_gas form button');
    assert.match(plain.page.url(), /\/toolbox\?tool=get_gas&chain=base_mainnet#get_gas$/);
    assert.match(await textOf(plain, '#get_gas .answer'), /base_fee_per_gas/);
    assert.match(await commandOf(plain, 'get_gas'), /\/toolbox\/gas\/base_mainnet'/);
    // Long texts are posted with their line breaks unchanged.
    await press(plain, '#verify_siwe form button');
    assert.equal(plain.page.url(), `${gateway}/toolbox#verify_siwe`);
    assert.match(await textOf(plain, '#verify_siwe .answer'), /valid\s+true/);
    await look(plain, 'toolbox-plain');
    await plain.context.close();
  });

  await t.test('commands follow what is typed, as the server writes them', async () => {
    const elsewhere = await person(browser, { javaScript: false });
    for (const tool of live) {
      for (const field of await page.$$(`#${tool} :is(input[type=text], textarea)`)) {
        await type({ page }, `#${await field.evaluate((e) => e.id)}`, hostile);
      }
      const values = await page.$eval(`#${tool} form`, (form) => new URLSearchParams(new FormData(form)).toString());
      await elsewhere.page.goto(`${gateway}/toolbox?${values}`, { waitUntil: 'load' });
      assert.equal(await commandOf(who, tool), await commandOf(elsewhere, tool), tool);
    }
    await elsewhere.context.close();
  });

  await t.test('a network that asks too often is told to wait', async () => {
    await open(who, '/toolbox');
    let asking = true; // another window of the network, because what is refused comes back within seconds
    const others = (async () => { while (asking) await fetch(`${gateway}/toolbox?tool=get_gas&chain=eth_mainnet`); })();
    await eventually('a refusal', async () => await run(who, 'get_gas') === undefined);
    asking = false;
    await others;
    assert.match(await textOf(who, '#get_gas .notice'), /-32005[^]*Wait \d+ s/);
    const other = await shell(await commandOf(who, 'get_gas'));
    assert.equal(other.chain, 'eth_mainnet', 'keys are not limited by it');
  });
  await who.context.close();
});
