// The console by keyboard alone: everything can be reached, in order, and the focus is visible.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, open, person, signIn } from './browser.js';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// Returns the text of the focused element and whether it is visible.
const focused = (page) => page.evaluate(() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const style = getComputedStyle(e);
  const box = e.getBoundingClientRect();
  return {
    says: (e.getAttribute('aria-label') ?? (e.innerText || e.name || e.id)).trim(),
    ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
    seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
  };
});

async function walk(page) {
  const stops = [];
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press('Tab');
    const at = await focused(page);
    if (!at) break;
    stops.push(at);
  }
  return stops;
}

test('the first key press leads past the frame', async () => {
  const who = await person(browser);
  await signIn(who, 'lee@keyboard.example');
  await open(who, '/keys');
  await who.page.keyboard.press('Tab');
  assert.deepEqual(await focused(who.page), { says: 'Skip to content', ring: true, seen: true });
  await who.page.keyboard.press('Enter');
  await who.page.keyboard.press('Tab');
  assert.equal((await focused(who.page)).says, 'Create key');
  await who.context.close();
});

test('every stop can be seen and has a ring', async () => {
  const who = await person(browser);
  await signIn(who, 'noa@keyboard.example');
  const wanted = {
    '/overview': ['Skip to content', 'Overview', 'Usage', 'Keys', 'Agents', 'Settings', 'Sign out', 'Create key'],
    '/keys/new': ['monthly_request_cap', 'Create key', 'Cancel'], // the name already has the focus
    '/agents': ['claim_code', 'Adopt key'],
    '/settings': ['account_name', 'Save name', 'notify_usage_80', 'Save notifications', 'time_zone', 'RPC switched on', 'Gas: cap in units per month', 'Save services', 'email', 'Send invitation', 'Save answers'],
  };
  for (const [path, names] of Object.entries(wanted)) {
    await open(who, path);
    const stops = await walk(who.page);
    for (const stop of stops) assert.deepEqual({ ring: stop.ring, seen: stop.seen }, { ring: true, seen: true }, `${path}: ${stop.says}`);
    let from = 0;
    for (const name of names) {
      const at = stops.findIndex((stop, i) => i >= from && stop.says === name);
      assert.ok(at >= 0, `${path}: ${name} is not reached after ${names[names.indexOf(name) - 1]}: ${stops.map((s) => s.says).join(' | ')}`);
      from = at + 1;
    }
  }
  await who.context.close();
});

test('a sign-in needs no mouse', async () => {
  const who = await person(browser);
  await open(who, '/sign-in');
  await who.page.keyboard.type('kay@keyboard.example');
  await Promise.all([who.page.waitForNavigation(), who.page.keyboard.press('Enter')]);
  assert.equal(new URL(who.page.url()).pathname, '/sign-in/code');
  assert.equal(await who.page.evaluate(() => document.activeElement.id), 'code');
  await who.context.close();
});

test('on a phone the menu opens and leads on', async () => {
  const who = await person(browser);
  await signIn(who, 'uma@keyboard.example');
  await who.page.setViewport({ width: 390, height: 844 });
  await open(who, '/keys');
  await who.page.focus('.menu summary');
  await who.page.keyboard.press('Enter');
  for (let i = 0; i < 4; i++) await who.page.keyboard.press('Tab');
  assert.equal((await focused(who.page)).says, 'Agents');
  await Promise.all([who.page.waitForNavigation(), who.page.keyboard.press('Enter')]);
  assert.equal(new URL(who.page.url()).pathname, '/agents');
  await who.context.close();
});
