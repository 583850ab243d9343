// Support requests in the browser: through the path in an error with the key of the call, and by a
// person who signed in.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Wallet } from 'ethers';
import { eventually } from '../wait.js';
import { follow, gateway, launch, look, newKey, open, person, signIn, textOf } from './browser.js';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const markup = '<script>alert(1)</script> & "quotes"';

// Makes a call that is refused, because no chain serves the method.
async function refusedCall(key) {
  const answer = await fetch(`${gateway}/rpc/eth_mainnet`, {
    method: 'POST', headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"eth_nothing","params":[]}',
  });
  const { error } = await answer.json();
  assert.equal(error.code, -32601);
  return error.data;
}

test('the support path of an error leads the holder of a key to a ticket, without JavaScript', async (t) => {
  const { key, key_prefix: prefix } = await newKey();
  const { support, request_id: request } = await refusedCall(key);
  const who = await person(browser, { javaScript: false });
  const { page } = who;

  await t.test('a stranger is asked for the key', async () => {
    await open(who, support);
    assert.match(await textOf(who), new RegExp(request));
    await look(who, 'support-door');
    await page.focus('#key');
    await page.keyboard.type(`${key.slice(0, -1)}-`);
    await follow(who, 'Use this key');
    assert.match(await page.$eval('#key-error', (e) => e.textContent), /not known/);
    assert.ok(!(await page.content()).includes(key.slice(12, 40)), 'what was typed does not come back');
    await look(who, 'support-door-refused');
  });

  await t.test('two clicks: the key, and the ticket', async () => {
    await page.focus('#key');
    await page.keyboard.type(key);
    await follow(who, 'Use this key');
    await eventually('the call in the record', async () => {
      await open(who, support);
      return !/The call was not found/.test(await textOf(who));
    }, 30_000);
    assert.match(await textOf(who), /The call[\s\S]+\(-32601\)/);
    assert.ok(!page.url().includes(key) && !(await page.content()).includes(key));
    await look(who, 'support-new');
    await page.focus('#message');
    await page.keyboard.type(`It worked yesterday. ${markup}`);
    await follow(who, 'File ticket');
    assert.match(page.url(), /\/support\/tickets\/CAG-\d+$/);
    assert.match(await textOf(who), /Ticket filed/);
    await look(who, 'support-ticket');
  });

  await t.test('the same symptom joins it', async () => {
    const first = page.url();
    const again = await refusedCall(key);
    await eventually('the second call in the record', async () => {
      await open(who, again.support);
      return !/The call was not found/.test(await textOf(who));
    }, 30_000);
    await page.focus('#message');
    await page.keyboard.type('It goes on.');
    await follow(who, 'File ticket');
    assert.equal(page.url(), first);
    assert.match(await textOf(who), /Added to this ticket/);
  });

  await t.test('the holder replies, resolves, and reopens', async () => {
    await page.focus('#message');
    await page.keyboard.type('More of it.');
    await follow(who, 'Send reply');
    assert.match(await textOf(who, '.thread'), /More of it\./);
    await follow(who, 'Mark as resolved');
    assert.match(await textOf(who), /closes automatically/);
    await look(who, 'support-ticket-resolved');
    await follow(who, 'Reopen without a reply');
    assert.match(await textOf(who), /Waiting for us/);
    await open(who, '/support/tickets');
    assert.match(await textOf(who), new RegExp(`Using the key ${prefix}`));
    await look(who, 'support-tickets');
    await follow(who, 'Forget this key');
    assert.match(await textOf(who), /Sign in, or use the key/);
  });
  await t.test('with JavaScript the door is the same, and the checker finds nothing', async () => {
    const other = await person(browser);
    await open(other, support);
    assert.match(await textOf(other), /Sign in, or use the key/);
    await look(other, 'support-door-scripts');
    await other.page.type('#key', `${key.slice(0, -1)}-`);
    await follow(other, 'Use this key');
    await look(other, 'support-door-scripts-refused');
    assert.deepEqual(other.wrong, []);
    await other.context.close();
  });
  assert.deepEqual(who.wrong, []);
  await who.context.close();
});

test('tickets, feedback and agents of somebody who signed in', async (t) => {
  const who = await person(browser);
  const { page } = who;
  await signIn(who, 'ines@support.example');

  await t.test('without tickets the page says how to file one', async () => {
    await open(who, '/tickets');
    assert.match(await textOf(who), /error\.data\.support/);
    await look(who, 'tickets-empty');
    await follow(who, 'File a ticket');
    await look(who, 'ticket-new');
  });

  await t.test('a call of somebody else is not found, and the form comes without it', async () => {
    const answer = await open(who, '/support/new?request_id=0199d5b2-6f00-7c3a-9d4e-2b1f0a9c8e77');
    assert.equal(answer.status(), 404);
    assert.match(await textOf(who), /The call was not found/);
    await look(who, 'ticket-new-not-found');
  });

  await t.test('a ticket is filed with markup, which stays text', async () => {
    await page.type('#subject', markup);
    await page.type('#message', `${markup}\nsecond line`);
    await page.select('#category', 'billing');
    await follow(who, 'File ticket');
    assert.equal(await page.$eval('h1', (e) => e.textContent), markup);
    assert.match(await textOf(who, '.thread'), /second line/);
    await look(who, 'ticket');
    await follow(who, 'Send reply');
    assert.match(await textOf(who), /message is missing/);
    await look(who, 'ticket-refused');
    await open(who, '/tickets');
    await look(who, 'tickets');
    const unknown = await open(who, '/tickets?status=bogus');
    assert.equal(unknown.status(), 422);
    await look(who, 'tickets-unknown-status');
  });

  await t.test('a file is refused with what to do instead', async () => {
    await open(who, '/tickets/new');
    await page.$eval('form.card', (form) => { form.enctype = 'multipart/form-data'; });
    await page.type('#subject', 's');
    await page.type('#message', 'm');
    await follow(who, 'File ticket');
    assert.match(await textOf(who), /Files are not accepted/);
    await look(who, 'ticket-file');
  });

  await t.test('feedback is given and listed', async () => {
    await open(who, '/feedback');
    await look(who, 'feedback-empty');
    await page.type('#title', markup);
    await page.type('#body', 'We follow new heads.\nPolling is wasteful.');
    await follow(who, 'Send feedback');
    assert.match(await textOf(who, '.thread'), /Polling is wasteful/);
    await look(who, 'feedback');
  });

  await t.test('an agent is claimed by what its wallet signs', async () => {
    const wallet = Wallet.createRandom();
    await open(who, '/agents/claim');
    await page.type('#name', 'scout');
    await page.type('#address', wallet.address);
    await look(who, 'agent-claim');
    await follow(who, 'Show the message to sign');
    const message = await page.$eval('#message-to-sign', (e) => e.textContent);
    await page.type('#signature', '0x00');
    await follow(who, 'Claim agent');
    assert.equal(await page.$eval('#message-to-sign', (e) => e.textContent), message, 'a wrong signature keeps the message');
    await look(who, 'agent-claim-refused');
    await page.$eval('#signature', (e) => { e.value = ''; });
    await page.type('#signature', await wallet.signMessage(message));
    await follow(who, 'Claim agent');
    assert.match(await page.$eval('#secret', (e) => e.textContent), /^cag_[0-9A-Za-z]{49}$/);
    await look(who, 'agent-claimed');
    await open(who, '/agents');
    assert.match(await textOf(who), new RegExp(wallet.address));
  });

  await t.test('keys are found, revoked ones are listed apart', async () => {
    await open(who, '/keys?find=scout');
    await look(who, 'keys-found');
    await open(who, '/keys?status=revoked');
    assert.match(await textOf(who), /No revoked keys/);
    await look(who, 'keys-revoked');
  });
  assert.deepEqual(who.wrong, []);
  await who.context.close();
});
