// Receipts of payments per call: as people see and print them, with sums that add up, and for
// hashes without a payment.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { stranger } from '../payer.js';
import { gateway, launch, look, open, person, textOf } from './browser.js';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

test('receipts', async (t) => {
  const payer = await stranger(gateway);
  const hash = await payer.transfer(payer.tier('balanced').maxAmountRequired);
  const bought = await payer.redeem(hash, 'balanced', await payer.sign(hash));
  payer.close();
  assert.equal(bought.status, 200, JSON.stringify(bought.body));
  const who = await person(browser);
  const { page } = who;

  await t.test('show who paid, and sums that add up', async () => {
    await open(who, `/x402/receipts/${hash}`);
    const text = await textOf(who);
    for (const part of [payer.address, hash, 'redeemed, not final yet', 'Redeemed for 10000 units']) assert.ok(text.includes(part), `${part} in ${text}`);
    assert.ok(!text.includes('cagx_'), 'it shows a credential');
    const sums = await page.$$eval('table.sum', (all) => all.map((sum) => {
      const cents = (e) => Math.round(Number(e.textContent.replaceAll(',', '')) * 1e6);
      return { lines: [...sum.querySelectorAll('tbody td')].map(cents), total: cents(sum.querySelector('tfoot td')) };
    }));
    assert.equal(sums.length, 2);
    for (const { lines, total } of sums) assert.equal(lines.reduce((a, b) => a + b, 0), total, JSON.stringify(sums));
    await look(who, 'receipt');
  });

  await t.test('lead to the same as JSON', async () => {
    const link = await page.$eval('.aside a', (a) => a.href);
    const receipt = await (await fetch(link)).json();
    assert.equal(receipt.settlements[0].wallet, payer.address);
  });

  await t.test('are printed on white, without what leads elsewhere', async () => {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    await page.emulateMediaType('print'); // last: setting the features resets it
    const printed = await page.evaluate(() => ({
      ground: getComputedStyle(document.body).backgroundColor,
      hidden: ['.bar-links', '.foot', '.aside'].map((s) => getComputedStyle(document.querySelector(s)).display),
    }));
    assert.deepEqual(printed, { ground: 'rgb(255, 255, 255)', hidden: ['none', 'none', 'none'] });
    const pages = Buffer.from(await page.pdf({ preferCSSPageSize: true })).toString('latin1');
    assert.match(pages, /\/MediaBox ?\[0 0 59[45][.\d]* 84[12]/, 'A4');
    await page.emulateMediaType(null);
    await page.emulateMediaFeatures([]);
  });

  await t.test('are not there for hashes of nothing', async () => {
    const answer = await open(who, `/x402/receipts/0x${'00'.repeat(32)}`);
    assert.equal(answer.status(), 404);
    assert.match(await textOf(who), /There is no such receipt/);
    await look(who, 'receipt-missing');
  });

  await t.test('are there without JavaScript', async () => {
    const plain = await person(browser, { javaScript: false });
    await open(plain, `/x402/receipts/${hash}`);
    assert.match(await textOf(plain), /Paid\s+0\.108000/);
    await plain.context.close();
  });
  await who.context.close();
});
