// A key without a human, and with one: created, bound to a wallet, used, and adopted by an owner
// who signs in with a browser. The wallet is ethers', the messages are parsed by npm siwe, and the
// browser is Debian's Chromium.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { Wallet } from 'ethers';
import puppeteer from 'puppeteer-core';
import { SiweMessage } from 'siwe';
import { eventually, gateway } from './client.js';

const chromium = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync);
const host = new URL(gateway).host;

async function ask(method, path, key, body) {
  const response = await fetch(gateway + path, {
    method,
    redirect: 'manual',
    headers: { ...(key && { Authorization: `Bearer ${key}` }), ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text.startsWith('{') ? JSON.parse(text) : text };
}

function balance(key) {
  return ask('POST', '/rpc/eth_mainnet', key, { jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [Wallet.createRandom().address, 'latest'] });
}

function refused(answer, status, code) {
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert.equal(answer.body.error.code, code);
  assert.match(answer.body.error.data.support, /^\/support\/new\?request_id=/);
  return answer.body.error;
}

// Opens a page of the console, is redirected to sign in, types the code of the mail, and returns to
// the page.
async function signIn(page, email, path) {
  await page.goto(gateway + path);
  assert.match(page.url(), /\/sign-in/);
  await page.type('input[name=email]', email);
  await Promise.all([page.waitForNavigation(), page.click('main form[action="/sign-in"] button')]);
  const mail = await caught(email, 'a mail with a code', (m) => m.code);
  await page.type('input[name=code]', mail.code);
  await Promise.all([page.waitForNavigation(), page.click('form[action="/sign-in/code"] button')]);
}

function caught(to, what, wanted) {
  return eventually(what, async () => {
    const all = await (await fetch(`${gateway}/dev/mail.json`)).json();
    return (all.mails ?? all).find((m) => m.to.includes(to) && wanted(m));
  });
}

test('a key is made, bound to a wallet, used, and adopted by an owner in a browser', async (t) => {
  // Door 1.
  const made = await ask('POST', '/keys');
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { key, key_prefix: prefix, fences, doorways } = made.body;
  assert.equal(fences.units_per_day, 10_000);
  assert.equal(fences.requests_per_second, 5);
  assert.equal((await balance(key)).status, 200);

  // Door 2: the message as npm siwe parses it.
  const wallet = Wallet.createRandom();
  const started = await ask('POST', '/keys/bind/start', key, { address: wallet.address });
  assert.equal(started.status, 200, JSON.stringify(started.body));
  const message = new SiweMessage(started.body.message_to_sign);
  assert.equal(message.toMessage(), started.body.message_to_sign);
  assert.equal(message.domain, host);
  assert.equal(message.address, wallet.address);
  assert.equal(message.chainId, 1);
  assert.equal(message.version, '1');
  assert.ok(message.nonce.length >= 8);
  assert.ok(started.body.expires_in_seconds > 540 && started.body.expires_in_seconds <= 600);

  await t.test('what does not prove the wallet binds nothing', async () => {
    const other = Wallet.createRandom();
    const signature = await wallet.signMessage(started.body.message_to_sign);
    const complete = (address, proof) => ask('POST', '/keys/bind', key, { address, signature: proof });
    refused(await complete(wallet.address, await other.signMessage(started.body.message_to_sign)), 422, -32025);
    refused(await complete(wallet.address, await wallet.signMessage(started.body.message_to_sign.replace(host, 'chainаccess.example'))), 422, -32025);
    refused(await complete(wallet.address, await wallet.signMessage(started.body.message_to_sign.replace(message.nonce, 'nonce1234567'))), 422, -32025);
    refused(await complete(other.address, signature), 422, -32025);
    refused(await complete('0x12', signature), 422, -32602);
    refused(await complete(wallet.address, 'nonsense'), 422, -32025);
  });

  const proof = { address: wallet.address, signature: await wallet.signMessage(started.body.message_to_sign) };
  const bound = await ask('POST', '/keys/bind', key, proof);
  assert.equal(bound.status, 200, JSON.stringify(bound.body));
  assert.equal(bound.body.bound, true);
  assert.equal(bound.body.bound_address, wallet.address);
  assert.equal(bound.body.fences.units_per_month, 1_000_000);
  assert.equal(bound.body.key, undefined);
  const again = await ask('POST', '/keys/bind', key, proof);
  assert.deepEqual([again.status, again.body], [200, bound.body]);
  refused(await ask('POST', '/keys/bind/start', key, { address: Wallet.createRandom().address }), 422, -32025);
  assert.equal((await balance(key)).status, 200);

  // Door 3b: an owner signs up by mail and adopts the key with its claim code.
  const browser = await puppeteer.launch({ executablePath: chromium, args: ['--no-sandbox'] });
  t.after(() => browser.close());
  const page = await browser.newPage();
  const owner = `owner-${Date.now()}@buyer.example`;
  await signIn(page, owner, `/agents?claim_code=${doorways.adopt.claim_code}`);
  assert.match(page.url(), /\/agents\?claim_code=/, 'the visitor comes back to the claim');
  assert.equal(await page.$eval('input[name=claim_code]', (field) => field.value), doorways.adopt.claim_code);
  await Promise.all([page.waitForNavigation(), page.click('form[action="/agents/adopt"] button')]);
  assert.match(page.url(), /\/agents/);
  const said = await page.$eval('main', (main) => main.innerText);
  assert.ok(said.includes(prefix), said);

  // From the next call on, the owner's fences apply and the door's do not.
  assert.equal((await balance(key)).status, 200);
  refused(await ask('POST', '/keys/bind/start', key, { address: Wallet.createRandom().address }), 403, -32028);
  await page.goto(`${gateway}/keys`);
  assert.ok((await page.$eval('main', (main) => main.innerText)).includes(prefix));
  await eventually('the call counts for the owner', async () => {
    await page.goto(`${gateway}/overview`);
    return /[1-9]\d* of 1,000,000|[1-9]\d* units/.test(await page.$eval('main', (main) => main.innerText));
  });
  const told = await caught(owner, 'a mail that tells of the adoption', (m) => m.text.includes(prefix));
  assert.ok(!told.text.includes(key) && !told.text.includes(doorways.adopt.claim_code));

  // The code no longer works for anyone else.
  const stranger = await (await browser.createBrowserContext()).newPage();
  await signIn(stranger, `other-${Date.now()}@buyer.example`, `/agents?claim_code=${doorways.adopt.claim_code}`);
  await Promise.all([stranger.waitForNavigation(), stranger.click('form[action="/agents/adopt"] button')]);
  assert.match(await stranger.$eval('main', (main) => main.innerText), /Nothing was adopted/);
  await stranger.goto(`${gateway}/keys`);
  assert.ok(!(await stranger.$eval('main', (main) => main.innerText)).includes(prefix));
  assert.equal((await balance(key)).status, 200);
});
