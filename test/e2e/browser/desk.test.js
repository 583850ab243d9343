// Staff answer a customer's ticket, and the customer reads the answer.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../wait.js';
import { follow, gateway, launch, look, mail, open, person, signIn, textOf } from './browser.js';

const customer = 'ines@harbour.example';
const staff = 'dee@desk.example';
const markup = '<script>document.title = "x"</script> & "quotes"';

// Waits until the newest mail to the customer matches.
const told = (words) => eventually(`a mail that says ${words}`, async () => {
  const newest = await mail(customer);
  return words.test(`${newest.subject}\n${newest.text}`) && newest;
});

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

test('a ticket, from both sides', async (t) => {
  const ines = await person(browser);
  const dee = await person(browser);
  await signIn(ines, customer);
  await signIn(dee, staff);
  let reference;

  await t.test('without the role there is no desk', async () => {
    assert.equal((await open(dee, '/staff/tickets')).status(), 404);
    const made = await fetch(`${gateway}/dev/staff`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ email: staff }) });
    assert.equal(made.status, 200);
  });

  await t.test('a customer asks, and gives feedback', async () => {
    await open(ines, '/tickets/new');
    await ines.page.type('#subject', `Slow ${markup}`);
    await ines.page.type('#message', `Since 14:00 UTC every call is slow.\n${markup}`);
    await follow(ines, 'File ticket');
    reference = new URL(ines.page.url()).pathname.split('/').pop();
    assert.match(reference, /^CAG-\d+$/);
    await told(new RegExp(`${reference} received`));
    await open(ines, '/feedback');
    await ines.page.type('#title', markup);
    await follow(ines, 'Send feedback');
  });

  await t.test('staff finds the ticket, and reads all of it', async () => {
    await open(dee, '/staff/tickets');
    assert.match(await textOf(dee), new RegExp(reference));
    await look(dee, 'desk-tickets');
    await open(dee, `/staff/tickets/${reference}`);
    const text = await textOf(dee);
    assert.ok(text.includes(markup) && text.includes(customer) && text.includes('filed it'), text);
    await look(dee, 'desk-ticket');
  });

  await t.test('an answer that overlooks a message is kept and not sent', async () => {
    await open(ines, `/tickets/${reference}`);
    await ines.page.type('#message', 'It is getting worse.');
    await follow(ines, 'Send reply');
    await dee.page.type('#message', 'Does it work now?');
    await follow(dee, 'Send reply');
    assert.match(await textOf(dee), /Read what came/);
    assert.equal(await dee.page.$eval('#message', (e) => e.value), 'Does it work now?');
    await look(dee, 'desk-ticket-unread');
    await follow(dee, 'Send reply');
    assert.match(await textOf(dee), /Reply sent/);
    await told(/> Does it work now\?/);
  });

  await t.test('staff answers feedback', async () => {
    await open(dee, '/staff/feedback');
    await dee.page.$eval('main details', (e) => { e.open = true; });
    await look(dee, 'desk-feedback');
    await dee.page.select('select[name=status]', 'planned');
    await dee.page.type('textarea[name=reply]', 'In spring.');
    await follow(dee, 'Save answer');
    assert.match(await textOf(dee), /Answer saved/);
    await open(dee, '/staff/feedback?list=closed');
    await look(dee, 'desk-feedback-wrong');
  });

  await t.test('a list with nothing in it says so', async () => {
    await open(dee, '/staff/tickets?status=closed&priority=urgent');
    assert.match(await textOf(dee), /No tickets here/);
    await look(dee, 'desk-empty');
  });
});
