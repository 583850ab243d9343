// Everything works without JavaScript, and within the restrictions of the security headers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { askMail, click, follow, gateway, launch, linkIn, look, open, person, press, textOf } from './browser.js';

const owner = 'kim@plain.example';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

test('the console without JavaScript', async (t) => {
  const who = await person(browser, { javaScript: false });
  const { page } = who;

  await t.test('the theme is switched by a form', async () => {
    await open(who, '/sign-in');
    await press(who, 'form[data-theme-switch] button[value=dark]');
    assert.equal(new URL(page.url()).pathname, '/sign-in', 'back where it was');
    assert.equal(await page.$eval('html', (e) => e.dataset.theme), 'dark');
    assert.equal(await page.$eval('body', (e) => getComputedStyle(e).backgroundColor), 'rgb(16, 18, 20)');
    await press(who, 'form[data-theme-switch] button[value=auto]');
    assert.equal(await page.$eval('html', (e) => e.dataset.theme), undefined);
  });

  await t.test('somebody signs in by the link of the mail', async () => {
    const { text } = await askMail(who, owner);
    const answer = await page.goto(linkIn(text), { waitUntil: 'load' });
    assert.equal(answer.headers()['referrer-policy'], 'no-referrer');
    await follow(who, 'Sign in');
    assert.equal(new URL(page.url()).pathname, '/overview');
    await page.goto(linkIn(text), { waitUntil: 'load' });
    assert.match(await textOf(who), /used already/, 'a link works once');
  });

  await t.test('a key is made, shown, given a cap, and revoked', async () => {
    await open(who, '/keys/new');
    await page.focus('#name');
    await page.keyboard.type('plain');
    await follow(who, 'Create key');
    assert.match(await page.$eval('#secret', (e) => e.textContent), /^cag_/);
    assert.equal(await page.$eval('button.copy', (e) => getComputedStyle(e).display), 'none', 'no button that does nothing');
    await follow(who, 'I have stored it');
    await page.focus('#monthly_request_cap');
    await page.keyboard.type('9000');
    await follow(who, 'Save limits');
    assert.equal(await page.$eval('#monthly_request_cap', (e) => e.value), '9,000');
    await follow(who, 'Revoke key');
    await follow(who, 'Revoke key');
    assert.match(await textOf(who), /Key revoked/);
  });

  await t.test('the chart has its table, and the menu opens on a phone', async () => {
    await open(who, '/overview');
    await page.setViewport({ width: 390, height: 844 });
    await click(who, '.menu summary');
    await press(who, '.menu a[href="/settings"]');
    assert.equal(new URL(page.url()).pathname, '/settings');
    await click(who, '#notify_incidents');
    await follow(who, 'Save notifications');
    assert.equal(await page.$eval('#notify_incidents', (e) => e.checked), true);
    await page.setViewport({ width: 1280, height: 860 });
  });

  await t.test('the pages look the same', async () => {
    for (const path of ['/overview', '/keys', '/settings']) {
      await open(who, path);
      await look(who, `plain${path.replace('/', '-')}`);
    }
  });

  await t.test('signing out ends it', async () => {
    await press(who, '.rail form[action="/sign-out"] button');
    await open(who, '/keys');
    assert.equal(new URL(page.url()).pathname, '/sign-in');
  });
  assert.deepEqual(who.wrong, []);
  await who.context.close();
});

test('the theme changes at once where scripts run, and stays', async () => {
  const who = await person(browser);
  await open(who, '/');
  const saved = who.page.waitForResponse((r) => r.url() === `${gateway}/theme`);
  await who.page.click('form[data-theme-switch] button[value=dark]');
  assert.equal(await who.page.$eval('html', (e) => e.dataset.theme), 'dark');
  assert.equal(await who.page.$eval('button[value=dark]', (e) => e.ariaPressed), 'true');
  await saved;
  await open(who, '/sign-in');
  assert.equal(await who.page.$eval('html', (e) => e.dataset.theme), 'dark');
  assert.deepEqual(who.wrong, []);
  await who.context.close();
});

test('what the policy forbids does not happen', async () => {
  const who = await person(browser);
  const answer = await open(who, '/sign-in');
  const headers = answer.headers();
  assert.match(headers['content-security-policy'], /default-src 'none'/);
  assert.equal(headers['cache-control'], 'no-store');
  const ran = await who.page.evaluate(async () => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.ran = true';
    document.body.append(script);
    const style = document.createElement('style');
    style.textContent = 'body { display: none }';
    document.head.append(style);
    const elsewhere = await fetch('http://127.0.0.1:9/').then(() => true, () => false);
    return { script: globalThis.ran ?? 'did not run', style: getComputedStyle(document.body).display === 'none', elsewhere };
  });
  assert.deepEqual(ran, { script: 'did not run', style: false, elsewhere: false });
  await who.context.close();
});

test('a form of another site changes nothing', async () => {
  const who = await person(browser);
  await open(who, '/sign-in');
  const token = await who.page.$eval('input[name=csrf]', (e) => e.value);
  // A page of another origin, with the right token and the visitor's cookie.
  await who.page.goto('about:blank');
  await who.page.setContent(`<form method="post" action="${gateway}/theme"><input name="csrf" value="${token}"><input name="theme" value="dark"><button>Send</button></form>`);
  const [answer] = await Promise.all([who.page.waitForNavigation({ waitUntil: 'load' }), who.page.click('button')]);
  assert.equal(answer.status(), 403);
  assert.match(await textOf(who), /nothing was done/);
  assert.equal((await who.context.cookies()).find((c) => c.name === 'theme'), undefined);
  await who.context.close();
});

test('pages with all they load are small, and assets are kept for a year', async () => {
  const who = await person(browser);
  await who.page.setCacheEnabled(false);
  for (const path of ['/', '/sign-in']) {
    const bodies = [];
    const count = (r) => { if (!r.url().startsWith('data:')) bodies.push(r.buffer().then((b) => b.length)); };
    who.page.on('response', count);
    await who.page.goto(gateway + path, { waitUntil: 'networkidle0' });
    who.page.off('response', count);
    const bytes = (await Promise.all(bodies)).reduce((sum, n) => sum + n, 0);
    assert.ok(bytes > 1000 && bytes < 150 * 1024, `${path} is ${bytes} bytes`);
  }
  const sheet = await who.page.$eval('link[rel=stylesheet]', (e) => e.href);
  const answer = await fetch(sheet);
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  assert.equal(answer.headers.get('content-encoding'), 'gzip');
  await who.context.close();
});
