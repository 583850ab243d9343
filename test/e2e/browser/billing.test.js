// A customer buys a plan and a pack at the sandbox's Stripe, which has an origin of its own like
// the real one: with a card that is declined and with one that pays. The customer changes card and
// plan, cancels and resumes, and reads the statement.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../wait.js';
import { follow, launch, look, open, person, press, signIn, textOf } from './browser.js';

const buyer = 'owner@harbour-data.example';
const good = '4242 4242 4242 4242';
const declined = '4000 0000 0000 0002';
const failing = '4000 0000 0000 0341'; // saved, and declined later
const another = '5555 5555 5555 4444';

// The pages of the sandbox's Stripe.
const provider = /^http:\/\/127\.0\.0\.1:\d+\/(pay|portal|invoice)\//;

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const pathOf = ({ page }) => new URL(page.url()).pathname;

// Reloads a page of the gateway until its text matches.
async function shows(who, path, pattern) {
  return eventually(`${path} says ${pattern}`, async () => {
    await open(who, path);
    const text = await textOf(who);
    return pattern.test(text) && text;
  });
}

// Follows a link to the payment provider and waits for an element of its page. The page in between
// continues by itself.
async function leaveBy(who, text, selector) {
  await follow(who, text);
  await who.page.waitForSelector(selector);
  assert.match(who.page.url(), provider);
}

async function toCheckout(who, item) {
  await open(who, `/billing/buy?item=${item}`);
  await who.page.$eval('#country', (e) => { e.value = ''; });
  await who.page.type('#country', 'DE');
  await leaveBy(who, 'Go to payment', '#pay');
}

async function payWith(who, card) {
  await who.page.type('#card', card);
  await press(who, '#pay');
}

// Waits, after a payment, until the page reports it as paid. The page reloads itself until then.
async function isPaid(who) {
  await eventually('the payment counts', async () => {
    assert.equal(pathOf(who), '/billing/done');
    return /(?<!not )\bpaid\b/.test(await textOf(who).catch(() => '')); // the page may be reloading
  });
}

test('plans and packs, from the first checkout to the statement', async (t) => {
  const who = await person(browser, { elsewhere: provider });
  const { page } = who;
  await signIn(who, buyer);

  await t.test('without a card there is a ladder of prices', async () => {
    await open(who, '/billing');
    assert.match(await textOf(who), /No card on file/);
    await look(who, 'billing-first');
  });

  await t.test('a purchase is explained before anybody pays', async () => {
    await open(who, '/billing/buy?item=pro_monthly');
    assert.match(await textOf(who), /99\.00/);
    await look(who, 'billing-buy');
  });

  await t.test('a card that is declined buys nothing', async () => {
    await toCheckout(who, 'pro_monthly');
    assert.equal(await page.$eval('#total', (e) => e.textContent), '$118.80', 'VAT is on top');
    await look(who, 'stripe-checkout');
    await payWith(who, declined);
    assert.match(await page.$eval('[role=alert]', (e) => e.textContent), /declined/);
    await look(who, 'stripe-declined');
    await press(who, '#cancel');
    assert.equal(pathOf(who), '/billing');
    assert.match(await textOf(who), /No card on file/);
  });

  await t.test('a card that pays buys the plan', async () => {
    await toCheckout(who, 'pro_monthly');
    await payWith(who, good);
    await isPaid(who);
    await look(who, 'billing-done');
    const text = await shows(who, '/billing', /4242/);
    assert.match(text, /Plan Pro/);
    assert.match(text, /118\.80/);
    assert.doesNotMatch(await page.content(), /4242 ?4242/, 'no more of a card than its last four digits');
    await look(who, 'billing-pro');
  });

  await t.test('a change whose payment is declined changes nothing', async () => {
    await open(who, '/billing');
    await leaveBy(who, 'Open the customer portal', '#replace');
    await page.type('#card', failing);
    await press(who, '#replace');
    await open(who, '/billing/change?item=scale_monthly');
    await follow(who, 'Change and pay the difference');
    assert.match(await textOf(who, 'body'), /Nothing was changed/);
    assert.match(await textOf(who), /Plan Pro/);
    await look(who, 'billing-declined');
  });

  await t.test('the portal replaces the card', async () => {
    await open(who, '/billing');
    await leaveBy(who, 'Open the customer portal', '#replace');
    await look(who, 'stripe-portal');
    await page.type('#card', another);
    await press(who, '#replace');
    assert.match(await page.$eval('#current', (e) => e.textContent), /mastercard ending in 4444/);
    await press(who, '#back');
    assert.equal(pathOf(who), '/billing');
    await shows(who, '/billing', /4444/);
  });

  await t.test('a larger plan is in force at once and paid by the card on file', async () => {
    await open(who, '/billing/change?item=scale_monthly');
    await look(who, 'billing-change');
    await follow(who, 'Change and pay the difference');
    const text = await shows(who, '/billing', /Plan Scale/);
    assert.match(text, /Change of plan/);
  });

  await t.test('a pack is paid once and granted once', async () => {
    await toCheckout(who, 'pack_s');
    assert.equal(await page.$eval('#total', (e) => e.textContent), '$12.00');
    await payWith(who, good);
    await isPaid(who);
    await shows(who, '/billing', /1,200,000/);
    const packs = await page.$$eval('section[aria-labelledby=packs] tbody tr', (rows) => rows.length);
    assert.equal(packs, 1);
    await look(who, 'billing-pack');
  });

  await t.test('a plan is cancelled for its end, and resumed', async () => {
    await open(who, '/billing/cancel');
    await look(who, 'billing-cancel');
    await follow(who, "Cancel at the period's end");
    await shows(who, '/billing', /ends with its period/);
    await follow(who, 'Resume plan');
    await shows(who, '/billing', /renewed, until you cancel/);
  });

  await t.test('an invoice opens at the provider', async () => {
    const row = 'section[aria-labelledby=invoices] tbody tr button';
    await press(who, row);
    await page.waitForSelector('#state');
    assert.match(await page.$eval('#state', (e) => e.textContent), /^paid/);
    await look(who, 'stripe-invoice');
  });

  await t.test('the statement of the period has the invoices, and a table for spreadsheets', async () => {
    await open(who, '/billing');
    const numbers = await page.$$eval('section[aria-labelledby=invoices] tbody th', (cells) => cells.map((e) => e.textContent.trim()));
    assert.equal(numbers.length, 3, 'the plan, the difference to the larger one, the pack');
    await open(who, '/statements');
    await look(who, 'statements');
    await press(who, 'tbody th a');
    const text = await textOf(who);
    for (const number of numbers) assert.ok(text.includes(number), `the statement has invoice ${number}`);
    await look(who, 'statement');
    const table = await page.evaluate(async (path) => {
      const answer = await fetch(path);
      return { type: answer.headers.get('content-type'), text: await answer.text() };
    }, `${pathOf(who)}.csv`);
    assert.match(table.type, /^text\/csv/);
    for (const line of table.text.split('\n')) assert.doesNotMatch(line, /^"?[=+@]/, 'no cell is a formula');
  });

  await t.test('nobody else sees any of it', async () => {
    const stranger = await person(browser);
    await signIn(stranger, 'someone@harbour-data.example');
    await open(stranger, '/billing');
    assert.doesNotMatch(await textOf(stranger), /4444|118\.80/);
    await stranger.context.close();
  });
});
