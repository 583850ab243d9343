// The public status page: it shows the same as its JSON form, and its links work.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../wait.js';
import { gateway, launch, look, open, person, press, signIn, textOf } from './browser.js';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser?.close(); });

const statusNow = async () => {
  const response = await fetch(`${gateway}/status.json`);
  assert.equal(response.status, 200);
  return response.json();
};

test('the status', async (t) => {
  // The sandbox's chains are measured within seconds, and recorded by the second round of probes.
  const status = await eventually('measured chains', async () => {
    const s = await statusNow();
    return s.chains.length === 6 && s.chains.every((c) => c.state !== 'unknown' && c.uptime_percent !== null) && s;
  });
  const who = await person(browser);
  const { page } = who;

  await t.test('is in the bar, says how every chain stands, and is the same as its JSON', async () => {
    await open(who, '/');
    await press(who, '.bar-links a[href="/status"]');
    const text = await textOf(who);
    for (const chain of status.chains) assert.ok(text.includes(chain.title), `${chain.title} is missing`);
    const rows = await page.$$eval('section[aria-labelledby="now"] tbody tr', (all) => all.map((row) => row.querySelector('.status').textContent));
    assert.equal(rows.length, 6);
    assert.ok(rows.every((state) => ['up', 'degraded', 'down', 'not measured'].includes(state)), rows.join());
    assert.ok(await page.$('main a[href="/status.json"]'));
    await look(who, 'status');
  });

  await t.test('shows 90 days of each, as bars and as a table', async () => {
    const bars = await page.$$eval('.strip svg', (all) => all.map((svg) => svg.querySelectorAll('rect').length));
    assert.deepEqual(bars, Array(6).fill(90));
    await page.$eval('details', (details) => { details.open = true; });
    const cells = await page.$$eval('details tbody tr', (rows) => rows.map((row) => row.querySelectorAll('td').length));
    assert.deepEqual(cells, Array(90).fill(6));
    await look(who, 'status-table');
  });

  await t.test('leads to where mails about incidents are chosen', async () => {
    await signIn(who, `status-${Date.now()}@studio.example`);
    await open(who, '/status');
    await press(who, 'a[href="/settings#notifications"]');
    assert.equal(new URL(page.url()).pathname, '/settings');
    assert.ok(await page.$('#notify_incidents'));
  });

  await t.test('works without scripts', async () => {
    const plain = await person(browser, { javaScript: false });
    await open(plain, '/status');
    await look(plain, 'status-plain');
    await plain.context.close();
  });
});
