// A table of the console: sorted by its column headers, by mouse and by keyboard, and searched.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { follow, launch, look, open, person, signIn } from './browser.js';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const given = ['block 10', 'archive', 'block 9', 'receipts', 'logs', 'traces'];
const sorted = ['archive', 'block 9', 'block 10', 'logs', 'receipts', 'traces'];

test('tables sort by their heads and are searched', async () => {
  const who = await person(browser);
  const { page } = who;
  await signIn(who, 'tables@harbour-data.example');
  for (const subject of given) {
    await open(who, '/tickets/new');
    await page.type('#subject', subject);
    await page.type('#message', 'A question.');
    await follow(who, 'File ticket');
  }
  await open(who, '/tickets');
  const shown = () => page.$$eval('table[data-sort] tbody tr:not([hidden]) th', (all) => all.map((e) => e.textContent.trim()));
  const head = (text) => page.$(`::-p-xpath(//table[@data-sort]//th[normalize-space(.)="${text}"])`);
  const state = async (text) => (await head(text)).evaluate((e) => e.getAttribute('aria-sort'));
  assert.deepEqual(await shown(), [...given].reverse(), 'the newest stands first');

  await (await (await head('Subject')).$('button')).click();
  assert.deepEqual([await shown(), await state('Subject')], [sorted, 'ascending']);
  await (await (await head('Subject')).$('button')).click();
  assert.deepEqual([await shown(), await state('Subject')], [[...sorted].reverse(), 'descending']);
  await (await (await head('Ticket')).$('button')).focus();
  await page.keyboard.press('Enter');
  assert.deepEqual([await shown(), await state('Ticket'), await state('Subject')], [given, 'ascending', null]);

  await page.type('input[type=search]', 'QUESTION receip');
  assert.deepEqual(await shown(), ['receipts'], 'every word stands somewhere in the row');
  assert.equal(await page.$eval('.find [role=status]', (e) => e.textContent), '1 of 6');
  await look(who, 'table-searched');
  await page.$eval('input[type=search]', (e) => { e.value = ''; e.dispatchEvent(new Event('input')); });
  assert.deepEqual(await shown(), given);
  assert.deepEqual(who.wrong, []);
  await who.context.close();
});
