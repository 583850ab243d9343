// Two people and one ticket, from the failed call to the last answer: a visitor makes a key, a call
// with it fails, the error leads to support, and staff answer. Then the same with a customer who is
// signed in and gets the answers by mail.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../wait.js';
import { follow, gateway, launch, look, mailThat, open, person, signIn, textOf } from './browser.js';

const markup = '<b>bold</b> & <script>alert(1)</script>';

let browser;
let staff;
before(async () => {
  browser = await launch();
  staff = await person(browser);
  await signIn(staff, 'desk@gateway-team.example');
  const given = await fetch(`${gateway}/dev/staff`, { method: 'POST', body: '{"email":"desk@gateway-team.example"}' });
  assert.equal(given.status, 200, await given.text());
});
after(async () => { await browser.close(); });

// Calls a method that no chain has, and returns the error's support path.
async function refusedCall(key) {
  const answer = await fetch(`${gateway}/rpc/base_mainnet`, {
    method: 'POST', headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"eth_walk","params":[]}',
  });
  const { error } = await answer.json();
  assert.equal(error.code, -32601);
  return error.data;
}

// Reloads a page until its text matches: a call appears in the call records some seconds later.
const shows = (who, path, pattern) => eventually(`${path} says ${pattern}`, async () => {
  await open(who, path);
  return pattern.test(await textOf(who));
}, 30_000);

test('a stranger: a key, a call, an error, a ticket, an answer, and the ticket again', async () => {
  const who = await person(browser);
  const { page } = who;
  await open(who, '/');
  await follow(who, 'Make a key');
  const key = (await page.$eval('.secret code', (e) => e.textContent)).trim();
  assert.match(key, /^cag_[0-9A-Za-z]{49}$/);
  const { support } = await refusedCall(key);

  await open(who, support);
  await page.type('#key', key);
  await follow(who, 'Use this key');
  await shows(who, support, /-32601/);
  await page.type('#message', 'What do I call instead?');
  await follow(who, 'File ticket');
  const [reference] = page.url().match(/CAG-\d+$/);

  await open(staff, '/staff/tickets');
  assert.match(await textOf(staff), new RegExp(reference));
  await look(staff, 'staff-tickets');
  await open(staff, `/staff/tickets/${reference}`);
  assert.match(await textOf(staff), /What do I call instead\?[\s\S]*-32601/);
  await look(staff, 'staff-ticket');
  await staff.page.type('#message', 'eth_blockNumber gives the newest block.');
  await follow(staff, 'Send reply');

  await open(who, `/support/tickets/${reference}`);
  assert.match(await textOf(who), /Waiting for you[\s\S]*eth_blockNumber gives the newest block\./);
  await follow(who, 'Mark as resolved');
  assert.match(await textOf(who), /closes automatically/);
  await page.type('#message', 'It is still refused.');
  await follow(who, 'Send reply and reopen');
  assert.match(await textOf(who), /Waiting for us/);
  await look(who, 'ticket-reopened');

  await open(staff, '/staff/tickets');
  assert.match(await textOf(staff), new RegExp(reference), 'it is among those to answer again');
  assert.deepEqual([...who.wrong, ...staff.wrong], []);
  await who.context.close();
});

test('a customer who signed in is mailed what staff wrote, as it was written', async () => {
  const address = 'lead@walk-studio.example';
  const who = await person(browser);
  await signIn(who, address);
  await open(who, '/tickets/new');
  await who.page.type('#subject', `An invoice ${markup}`);
  await who.page.type('#message', `Which one? ${markup}`);
  await follow(who, 'File ticket');
  const [reference] = who.page.url().match(/CAG-\d+$/);
  const received = await mailThat('the mail that it was received', address, (m) => m.subject.includes(reference));
  assert.ok(!received.html.includes('<script>') && !received.html.includes('<b>bold'), 'markup is no markup in mails');

  // Two staff members have the ticket open; the customer adds a message before the first one
  // answers.
  await open(staff, `/staff/tickets/${reference}`);
  await who.page.type('#message', 'The one of November.');
  await follow(who, 'Send reply');
  await staff.page.type('#message', `Which month? ${markup}`);
  await follow(staff, 'Send reply');
  assert.match(await textOf(staff), /The one of November\./, 'what came meanwhile is shown');
  assert.equal(await staff.page.$eval('#message', (e) => e.value), `Which month? ${markup}`, 'and what was written is kept');
  await look(staff, 'staff-ticket-meanwhile');
  await staff.page.$eval('#message', (e) => { e.value = ''; });
  await staff.page.type('#message', `Number 7. ${markup}`);
  await follow(staff, 'Send reply');

  const answered = await mailThat('the mail with the answer', address, (m) => m.text.includes('Number 7.'));
  assert.ok(answered.html.includes('&lt;script&gt;') && !answered.html.includes('<script>'), 'markup is text in mails');
  await open(who, new URL(answered.links.find((link) => link.includes(reference))).pathname);
  assert.match(await textOf(who, '.thread'), /Number 7\./);
  assert.equal((await open(who, '/staff/tickets')).status(), 404, 'nobody else sees the desk');
  assert.deepEqual([...who.wrong, ...staff.wrong], []);
  await who.context.close();
});
