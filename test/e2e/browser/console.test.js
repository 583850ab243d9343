// A person signs up and visits every page of the console.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../wait.js';
import { click, follow, gateway, launch, linkIn, look, mail, newKey, open, person, press, signIn, textOf } from './browser.js';

const owner = 'mira@studio-north.example';
const member = 'jo@studio-north.example';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// Makes a call with a key, as a program does.
const call = (key) => fetch(`${gateway}/rpc/eth_mainnet`, {
  method: 'POST', headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
  body: '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x00000000219ab540356cBB839Cbe05303d7705Fa","latest"]}',
});

test('the console, from the first page to signing out', async (t) => {
  const who = await person(browser);
  const { page } = who;
  let key;
  let keyPath;

  await t.test('the first page shows a command for a key', async () => {
    const answer = await open(who, '/');
    assert.equal(answer.status(), 200);
    assert.match(await textOf(who), new RegExp(`curl -X POST ${gateway}/keys`));
    await look(who, 'home');
  });

  await t.test('what does not exist is said on a page', async () => {
    const answer = await open(who, '/nothing-here');
    assert.equal(answer.status(), 404);
    await look(who, 'not-found');
  });

  await t.test('pages of the console ask to sign in, and come back', async () => {
    await open(who, '/keys');
    assert.equal(new URL(page.url()).pathname, '/sign-in');
    await look(who, 'sign-in');
  });

  await t.test('an address that is none is told at its field', async () => {
    await page.type('#email', 'mira@studio');
    await follow(who, 'Send link and code');
    assert.match(await page.$eval('#email-error', (e) => e.textContent), /form name@/);
    await look(who, 'sign-in-refused');
  });

  await t.test('a mail brings a link and a code; a wrong code is told at its field', async () => {
    await page.$eval('#email', (e) => { e.value = ''; });
    await page.type('#email', owner);
    await follow(who, 'Send link and code');
    await look(who, 'code');
    const { code } = await mail(owner);
    await page.type('#code', code === '000000' ? '000001' : '000000');
    await follow(who, 'Sign in');
    assert.match(await page.$eval('#code-error', (e) => e.textContent), /not the code/);
    await look(who, 'code-refused');
    await page.type('#code', code);
    await follow(who, 'Sign in');
    assert.equal(new URL(page.url()).pathname, '/keys', 'back where they wanted to go');
    const session = (await who.context.cookies()).find((c) => c.name === 'session');
    assert.deepEqual([session.httpOnly, session.sameSite, session.path], [true, 'Lax', '/']);
    await look(who, 'keys-empty');
  });

  await t.test('an overview without a key says to make one', async () => {
    await open(who, '/overview');
    assert.match(await textOf(who), /No key yet/);
    await look(who, 'overview-first');
  });

  await t.test('a key is made, shown once, and copied', async () => {
    await follow(who, 'Create key');
    await look(who, 'new-key');
    await page.type('#name', 'Trading bot, production');
    await page.type('#monthly_request_cap', '500,000');
    await follow(who, 'Create key');
    key = await page.$eval('#secret', (e) => e.textContent);
    assert.match(key, /^cag_[0-9A-Za-z]{49}$/);
    await page.click('.secret button.copy');
    await page.waitForFunction(() => document.querySelector('.secret [data-said]').textContent === 'Copied');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
    await look(who, 'key-created');
    // Reloading the page does not create another key.
    await page.reload({ waitUntil: 'load' });
    assert.equal(await page.$('#secret'), null);
    keyPath = new URL(page.url()).pathname;
    assert.match(keyPath, /^\/keys\/[0-9a-f-]{36}$/);
    assert.equal((await call(key)).status, 200, 'the key works at once');
  });

  await t.test('fences of a key are changed, and hold', async () => {
    await open(who, keyPath);
    await page.click('input[name=enabled][value=rpc]');
    await page.type('#cap-gas', 'a lot');
    await follow(who, 'Save limits');
    assert.match(await page.$eval('#cap-gas-error', (e) => e.textContent), /whole units/);
    await look(who, 'key-refused');
    await page.$eval('#cap-gas', (e) => { e.value = '20,000'; });
    await follow(who, 'Save limits');
    assert.match(await textOf(who), /Limits saved/);
    assert.equal(await page.$eval('#cap-gas', (e) => e.value), '20,000');
    const refused = await call(key);
    assert.deepEqual([refused.status, (await refused.json()).error.code], [403, -32012]);
    await page.click('input[name=enabled][value=rpc]');
    await follow(who, 'Save limits');
    for (let i = 0; i < 5; i++) assert.equal((await call(key)).status, 200);
    await look(who, 'key');
  });

  await t.test('the overview counts what was called, day by day', async () => {
    await eventually('usage in the chart', async () => {
      await open(who, '/overview');
      return /6 units from/.test(await textOf(who, '.readout'));
    }, 90_000);
    await look(who, 'overview');
    await page.focus('[data-plot]');
    assert.match(await textOf(who, '.readout'), /: 6 units, 7 requests, the day is not over/);
    assert.match(await page.$eval('[data-plot]', (e) => e.getAttribute('aria-valuetext')), /: 6 units/);
    await page.keyboard.press('Home');
    const { min, now } = await page.$eval('[data-plot]', (e) => ({ min: e.ariaValueMin, now: e.ariaValueNow }));
    assert.equal(now, min);
    await page.click('.chart summary');
    assert.match(await textOf(who, '.chart table'), /so far\)\s+6\s+0\s+6\s+7/);
  });

  await t.test('usage is told by hour, method and key, leads from an error to help, and is a file', async () => {
    await eventually('the refused call', async () => {
      await open(who, '/usage?range=24h');
      return (await page.$('a[href^="/support/new?request_id="]')) !== null;
    }, 90_000);
    const text = await textOf(who);
    for (const part of [/eth_getBalance/, /Trading bot, production/, /-32012/, /so far/]) assert.match(text, part);
    await look(who, 'usage');
    await click(who, 'section[aria-labelledby=by-method] .number .sort');
    assert.equal(await page.$eval('section[aria-labelledby=by-method] th.number', (e) => e.ariaSort), 'descending');
    const file = await page.evaluate(async () => (await fetch(document.querySelector('a[href^="/usage.csv"]').href)).text());
    assert.match(file, /"eth_mainnet","rpc","eth_getBalance","standard",[67],6,6,0,[01]/);
    await open(who, '/usage?key=none');
    assert.match(await textOf(who), /There is no such usage/);
  });

  await t.test('the list of keys shows it in use', async () => {
    await open(who, '/keys');
    assert.match(await textOf(who), /Trading bot, production/);
    await look(who, 'keys');
  });

  await t.test('the key of an agent is adopted by its claim code', async () => {
    await open(who, '/agents');
    assert.match(await textOf(who), /No agent yet/);
    await look(who, 'agents-empty');
    const welcome = await newKey();
    assert.equal((await call(welcome.key)).status, 200);
    // The claim link of an agent; an invalid code returns with a message.
    await open(who, `/agents?claim_code=${welcome.doorways.adopt.claim_code.slice(0, -1)}x`);
    await follow(who, 'Adopt key');
    assert.match(await textOf(who), /Nothing was adopted/);
    await look(who, 'agents-refused');
    await open(who, `/agents?claim_code=${welcome.doorways.adopt.claim_code}`);
    await follow(who, 'Adopt key');
    assert.match(page.url(), /\/agents\?adopted=[0-9a-f-]{36}$/);
    assert.match(await textOf(who), /Key adopted/);
    assert.match(await textOf(who), new RegExp(welcome.key_prefix));
    assert.equal((await call(welcome.key)).status, 200, 'it goes on working');
    await look(who, 'agents');
    // The same code again, from a program in the owner's session.
    const cookie = (await who.context.cookies()).map((c) => `${c.name}=${c.value}`).join('; ');
    const again = await fetch(`${gateway}/agents/adopt`, {
      method: 'POST', redirect: 'manual', headers: { 'Content-Type': 'application/json', Cookie: cookie },
      body: JSON.stringify({ claim_code: welcome.doorways.adopt.claim_code }),
    });
    assert.equal(again.status, 302);
    const unknown = await fetch(`${gateway}/agents/adopt`, {
      method: 'POST', redirect: 'manual', headers: { 'Content-Type': 'application/json', Cookie: cookie }, body: '{"claim_code":"cagc_x"}',
    });
    assert.equal(unknown.status, 422);
    const { error } = await unknown.json();
    assert.deepEqual([error.code, typeof error.data.request_id], [-32602, 'string']);
  });

  await t.test('settings are changed one by one', async () => {
    await open(who, '/settings');
    await look(who, 'settings');
    await page.click('#notify_incidents');
    await follow(who, 'Save notifications');
    assert.equal(await page.$eval('#notify_incidents', (e) => e.checked), true);
    await page.$eval('#time_zone', (e) => { e.value = 'Mars/Base'; });
    await follow(who, 'Save time zone');
    assert.match(await textOf(who), /IANA|time zone database/);
    await page.$eval('#time_zone', (e) => { e.value = 'Asia/Kolkata'; });
    await follow(who, 'Save time zone');
    assert.equal(await page.$eval('#time_zone', (e) => e.value), 'Asia/Kolkata');
    assert.match(await page.$eval('main time', (e) => e.title), /IST$/, 'times are told in it');
    await page.select('#use_case', 'indexing');
    await page.click('#chains-eth_mainnet');
    await follow(who, 'Save answers');
    assert.equal(await page.$eval('#use_case', (e) => e.value), 'indexing');
    await page.type('#cap-gas', '9000');
    await follow(who, 'Save services');
    assert.equal(await page.$eval('#cap-gas', (e) => e.value), '9,000');
    await look(who, 'settings-saved');
  });

  await t.test('somebody is invited, joins, and is removed', async () => {
    await page.type('#invite-email', member);
    await follow(who, 'Send invitation');
    assert.match(await textOf(who), /Invitation sent/);
    const invited = await mail(member);
    const guest = await person(browser);
    await guest.page.goto(linkIn(invited.text), { waitUntil: 'load' });
    await look(guest, 'invitation');
    await follow(guest, `Join as ${member}`);
    assert.equal(new URL(guest.page.url()).pathname, '/overview');
    await open(guest, '/settings');
    assert.equal(await guest.page.$('#invite-email'), null, 'members invite nobody');
    await open(who, '/settings');
    await press(who, `::-p-xpath(//main//a[starts-with(normalize-space(.), "Remove") and contains(., "${member}")])`);
    await look(who, 'remove-member');
    await follow(who, 'Remove member');
    assert.match(await textOf(who), /Member removed/);
    await open(guest, '/overview');
    assert.equal(new URL(guest.page.url()).pathname, '/sign-in', 'their session is over');
    await guest.context.close();
  });

  await t.test('another browser is signed out from here', async () => {
    const elsewhere = await person(browser);
    await signIn(elsewhere, owner);
    await open(who, '/settings');
    await press(who, '::-p-xpath(//main//a[starts-with(normalize-space(.), "End")])');
    await look(who, 'end-session');
    await follow(who, 'End session');
    await open(elsewhere, '/overview');
    assert.equal(new URL(elsewhere.page.url()).pathname, '/sign-in');
    await elsewhere.context.close();
  });

  await t.test('the audit log tells all of it', async () => {
    await open(who, '/settings/audit');
    const log = await textOf(who);
    assert.match(log, new RegExp(owner));
    assert.match(log, /500,000/);
    await look(who, 'audit');
  });

  await t.test('a key is revoked after a confirmation, and stops', async () => {
    await open(who, keyPath);
    await follow(who, 'Revoke key');
    assert.equal((await call(key)).status, 200, 'asking stops nothing');
    await look(who, 'revoke-key');
    await follow(who, 'Revoke key');
    assert.match(await textOf(who), /Key revoked/);
    assert.equal((await call(key)).status, 401);
    await open(who, keyPath);
    await look(who, 'key-revoked');
  });

  await t.test('signing out ends the session', async () => {
    await press(who, '.rail form[action="/sign-out"] button');
    await open(who, '/overview');
    assert.equal(new URL(page.url()).pathname, '/sign-in');
  });
  await who.context.close();
});
