// Entries of the waitlist, starting from the mail: its reader confirms, leaves or withdraws the
// entry, and programs that scan mails do none of it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { follow, gateway, launch, linkIn, look, mail, person, textOf } from './browser.js';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

async function call(name, args) {
  const response = await fetch(`${gateway}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  return (await response.json()).result.structuredContent;
}

// Fetches a link as a mail scanner does.
async function scan(link) {
  for (const method of ['HEAD', 'GET', 'GET']) {
    const answer = await fetch(link, { method });
    assert.equal(answer.status, 200, method);
    assert.equal(answer.headers.get('x-robots-tag'), 'noindex');
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
  }
}

for (const javaScript of [true, false]) {
  test(`the waitlist, ${javaScript ? 'with' : 'without'} scripts`, async () => {
    const address = `waiting-${Date.now()}@reader.example`;
    const entry = { email_address: address, qualifier: 'developer', product_updates: true };
    assert.deepEqual(await call('join_waitlist', entry), { joined: true, already_on_list: false });
    const link = linkIn((await mail(address)).text);
    await scan(link);
    const who = await person(browser, { javaScript });
    await who.page.goto(link, { waitUntil: 'load' });
    assert.match(await textOf(who), /Confirm your place on the waitlist/, 'a scanner confirmed it');
    if (javaScript) await look(who, 'entry-waiting');
    await follow(who, 'Confirm');
    assert.match(await textOf(who), /Confirmed\. You get a mail when access opens, and product news\./);
    if (javaScript) await look(who, 'entry-confirmed');
    await who.page.goto(link, { waitUntil: 'load' });
    assert.match(await textOf(who), /You are on the waitlist/);
    await follow(who, 'Take the address off');
    assert.match(await textOf(who), /You are not on the waitlist/);
    if (javaScript) await look(who, 'entry-left');
    assert.deepEqual(await call('join_waitlist', entry), { joined: false, already_on_list: false });
    await follow(who, 'Put it back on');
    assert.match(await textOf(who), /You are on the waitlist/);
    assert.deepEqual(await call('join_waitlist', entry), { joined: true, already_on_list: true });
    assert.deepEqual(who.wrong, []);
  });
}

test('a request for an enterprise agreement', async () => {
  const address = `asking-${Date.now()}@reader.example`;
  await call('join_enterprise_wishlist', { items: 'A node of our own', email: address });
  const link = linkIn((await mail(address)).text);
  await scan(link);
  const who = await person(browser);
  await who.page.goto(link, { waitUntil: 'load' });
  assert.match(await textOf(who), /1 request for an enterprise agreement/);
  await look(who, 'entry-wish');
  await follow(who, 'Withdraw');
  assert.match(await textOf(who), /There is no open request/);
  await look(who, 'entry-withdrawn');
});

test('a link that was changed', async () => {
  const who = await person(browser);
  const answer = await who.page.goto(`${gateway}/entries?token=${'A'.repeat(80)}`, { waitUntil: 'load' });
  assert.equal(answer.status(), 422);
  assert.match(await textOf(who), /This link is not complete/);
});
