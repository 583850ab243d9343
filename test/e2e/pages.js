// Runs programs from the documents' pages unmodified, and a proxy in front of the gateway that
// refuses as a page says.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const patienceMs = 120_000;
const names = { lt: '<', gt: '>', amp: '&', quot: '"' };
const unescaped = (html) => html.replaceAll(/&(#\d+|\w+);/g, (_, name) => (name[0] === '#' ? String.fromCodePoint(Number(name.slice(1))) : names[name]));

// Returns a page: its programs by id, the example of an answer, and the first HTTP status that it
// names.
export async function pageOf(url) {
  const answer = await fetch(url);
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
  const html = await answer.text();
  const programs = Object.fromEntries([...html.matchAll(/<code id="([^"]+)">([^]*?)<\/code>/g)].map(([, id, text]) => [id, unescaped(text)]));
  const example = html.match(/<pre class="raw"[^>]*><code>([^]*?)<\/code>/);
  return { html, programs, example: example && JSON.parse(unescaped(example[1])), status: Number(html.match(/>HTTP (\d{3})/)?.[1]) };
}

// Creates a folder next to the packages, so that programs find them.
export function workshop() {
  const folder = mkdtempSync(fileURLToPath(new URL('./.run-', import.meta.url)));
  let made = 0;
  return {
    close: () => rmSync(folder, { recursive: true }),
    // Runs a program, in Node.js or in a shell, and returns its exit code and output.
    run(text, env, shell = false) {
      const file = join(folder, `${made += 1}.${shell ? 'sh' : 'mjs'}`);
      writeFileSync(file, text);
      const child = spawn(shell ? 'sh' : process.execPath, [file], { env: { ...process.env, ...env }, timeout: patienceMs });
      const said = { stdout: '', stderr: '' };
      for (const stream of ['stdout', 'stderr']) child[stream].on('data', (part) => { said[stream] += part; });
      return new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('close', (code) => resolve({ code, ...said }));
      });
    },
  };
}

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

// Starts a proxy in front of a gateway. It sends refuse's answer for a request's body, if there is
// one, and forwards other requests.
export async function inFrontOf(gateway, refuse) {
  const server = createServer(async (request, response) => {
    try {
      const body = await bodyOf(request);
      const on = () => fetch(gateway + request.url, {
        method: request.method, body: body || undefined,
        headers: { 'Content-Type': 'application/json', Authorization: request.headers.authorization ?? '' },
      });
      const refusal = await refuse(body, on);
      if (refusal) {
        response.writeHead(refusal.status, { 'Content-Type': 'application/json', ...refusal.headers }).end(JSON.stringify(refusal.body));
        return;
      }
      const answer = await on();
      response.writeHead(answer.status, { 'Content-Type': answer.headers.get('Content-Type') ?? 'text/plain' }).end(await answer.text());
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }),
  };
}
