// Shared helpers of the page tests: a browser that notices what a page must not do, people who sign
// in by mail, and checks of a page in both themes and widths, with screenshots and an accessibility
// audit.
//
// GATEWAY_URL  base URL of a gateway-dev
// SCREENSHOTS  folder for screenshots; without it none are kept
// CHROMIUM     the browser, if it is not found
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { eventually } from '../wait.js';

if (!process.env.GATEWAY_URL) throw new Error('set GATEWAY_URL: see README.md');
export const gateway = process.env.GATEWAY_URL;

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const shots = process.env.SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

const desktop = { width: 1280, height: 860 };
const phone = { width: 390, height: 844 };

function executable() {
  const known = [
    process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/snap/bin/chromium',
    '/Applications/Chromium.app/Contents/MacOS/Chromium', '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ];
  const found = known.find((path) => path && existsSync(path));
  if (!found) throw new Error('no browser was found: run scripts/bootstrap e2e, or set CHROMIUM');
  return found;
}

export async function launch() {
  // Chromium's own sandbox does not work for root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return puppeteer.launch({ executablePath: executable(), args: [...args, '--disable-dev-shm-usage'], headless: true });
}

// Opens a separate browser context for a person. Errors of pages are collected and asserted at the
// end of every look. elsewhere matches other origins to which the person may be led.
export async function person(browser, { javaScript = true, elsewhere = /^data:/ } = {}) {
  const context = await browser.createBrowserContext();
  if (javaScript) await context.overridePermissions(gateway, ['clipboard-read', 'clipboard-sanitized-write']);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.setViewport(desktop);
  await page.setJavaScriptEnabled(javaScript);
  const wrong = [];
  page.on('console', (message) => {
    // The browser itself logs answers with a 4xx status, which refused forms have.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) wrong.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => wrong.push(`script: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${gateway}/`) && !url.startsWith('data:') && !elsewhere.test(url)) wrong.push(`asked for ${url}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 500) wrong.push(`${response.url()} answered ${response.status()}`);
  });
  return { context, page, wrong, javaScript };
}

// Opens a path of the gateway and returns the response.
export async function open({ page }, path) {
  return page.goto(gateway + path, { waitUntil: 'load' });
}

// Clicks the centre of an element. Puppeteer's own methods wait for scripts of the page, which may
// be off.
export async function click({ page }, selector) {
  const element = await page.$(selector);
  assert.ok(element, `${new URL(page.url()).pathname} has no ${selector}`);
  const { x, y } = await element.evaluate((e) => {
    e.scrollIntoView({ block: 'center', behavior: 'instant' });
    const box = e.getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  });
  await page.mouse.click(x, y);
}

// Clicks an element and waits for the next page.
export async function press(who, selector) {
  await Promise.all([who.page.waitForNavigation({ waitUntil: 'load' }), click(who, selector)]);
}

// Clicks the button or link with a text and waits for the next page.
export async function follow(who, text) {
  await press(who, `::-p-xpath(//main//*[self::a or self::button][normalize-space(.)="${text}"])`);
}

export const textOf = ({ page }, selector = 'main') => page.$eval(selector, (element) => element.innerText);

// Checks the page in both themes and widths. except lists accessibility rules that do not apply to
// third-party markup.
export async function look(who, name, { except = [] } = {}) {
  const { page, wrong } = who;
  for (const theme of ['light', 'dark']) {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
    for (const size of [desktop, phone]) {
      const where = `${name}, ${theme}, ${size.width} px`;
      await page.setViewport(size);
      if (shots) await page.screenshot({ path: join(shots, `${name}-${theme}-${size.width}.png`), fullPage: true });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(overflow, 0, `${where}: the page is wider than the window by ${overflow} px`);
      if (who.javaScript) await accessible(page, where, except); // the accessibility checker is a script
    }
  }
  await page.emulateMediaFeatures([]);
  await page.setViewport(desktop);
  assert.deepEqual(wrong, [], `${name}: what the page must not do`);
}

async function accessible(page, where, except) {
  await page.evaluate(axe);
  const { violations, passes } = await page.evaluate(
    (rules) => globalThis.axe.run({ rules: Object.fromEntries(rules.map((rule) => [rule, { enabled: false }])) }), except,
  );
  assert.ok(passes.length > 10, `${where}: the checker found nothing to check`);
  const told = violations.map((v) => `${v.id}: ${v.help}\n${v.nodes.map((n) => `  ${n.html}\n  ${n.failureSummary}`).join('\n')}`);
  assert.deepEqual(told, [], `${where}: accessibility`);
}

async function mailsTo(address) {
  const response = await fetch(`${gateway}/dev/mail.json?to=${encodeURIComponent(address)}`);
  assert.equal(response.status, 200);
  return response.json();
}

// Returns the newest mail to an address, once there are more than after.
export async function mail(address, after = 0) {
  return eventually(`mail ${after + 1} to ${address}`, async () => {
    const mails = await mailsTo(address);
    return mails.length > after && mails[0];
  });
}

// Waits for a mail to an address for which fits returns true.
export async function mailThat(what, address, fits) {
  return eventually(what, async () => (await mailsTo(address)).find(fits));
}

// Requests a sign-in mail and returns it.
export async function askMail(who, address) {
  const { length } = await mailsTo(address);
  await open(who, '/sign-in');
  await who.page.type('#email', address);
  await follow(who, 'Send link and code');
  return mail(address, length);
}

// Signs in with the code of the mail.
export async function signIn(who, address) {
  const { code } = await askMail(who, address);
  await who.page.type('#code', code);
  await follow(who, 'Sign in');
}

export const linkIn = (text) => text.match(/https?:\/\/\S+token=\S+/)[0];

let strangers = 1;

// Creates a key as a client in another network, which has its own limit of three keys a day: from
// another loopback address, where the system has them.
export async function newKey() {
  strangers += 1;
  const ask = (options) => new Promise((resolve, reject) => {
    request(`${gateway}/keys`, { method: 'POST', ...options }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part) => { text += part; }).on('end', () => resolve({ status: answer.statusCode, text }));
    }).on('error', reject).end();
  });
  const { status, text } = await ask({ localAddress: `127.0.0.${strangers}` }).catch(() => ask({}));
  assert.equal(status, 201, text);
  return JSON.parse(text);
}
