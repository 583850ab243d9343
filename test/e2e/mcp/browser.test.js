// The official SDK's client in a page of another origin, in Chromium: the browser sends a CORS
// preflight before it sends the key, and lets the page read the answer.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { build } from 'esbuild';
import { launch } from '../browser/browser.js';

if (!process.env.API_KEY) throw new Error('set API_KEY: see README.md');

// The page's script: a client for the tests, as an application would bundle it.
const application = `
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
globalThis.connect = async (url, key) => {
  const client = new Client({ name: 'gateway-e2e-page', version: '1.0.0' });
  const headers = key ? { Authorization: 'Bearer ' + key } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
};
`;

let browser;
let server;
let page;
before(async () => {
  const bundled = await build({ stdin: { contents: application, resolveDir: import.meta.dirname }, bundle: true, format: 'esm', write: false, logLevel: 'error' });
  const [{ contents }] = bundled.outputFiles;
  server = createServer((request, response) => {
    const script = request.url === '/application.js';
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html');
    response.end(script ? contents : '<!doctype html><title>elsewhere</title><script type="module" src="/application.js"></script>');
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  browser = await launch();
  page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction(() => globalThis.connect);
});
after(async () => {
  await browser?.close();
  await new Promise((resolve) => { server ? server.close(resolve) : resolve(); });
});

test('a page of another origin lists the tools and calls them, with a key and without', async () => {
  assert.notEqual(new URL(page.url()).origin, new URL(process.env.GATEWAY_URL).origin);
  const seen = await page.evaluate(async (url, key) => {
    const anybody = await globalThis.connect(url);
    const holder = await globalThis.connect(url, key);
    const { tools } = await holder.listTools();
    return {
      tools: tools.length,
      version: anybody.getServerVersion().version,
      explained: await anybody.callTool({ name: 'explain_error', arguments: { code: -32005 } }),
      refused: await anybody.callTool({ name: 'rpc_call', arguments: { chain: 'eth_mainnet', method: 'eth_chainId' } }),
      called: await holder.callTool({ name: 'rpc_call', arguments: { chain: 'eth_mainnet', method: 'eth_chainId' } }),
    };
  }, `${process.env.GATEWAY_URL}/mcp`, process.env.API_KEY);
  assert.equal(seen.tools, 35);
  assert.equal(seen.version, '1.4.0');
  assert.notEqual(seen.explained.isError, true, JSON.stringify(seen.explained));
  assert.equal(JSON.parse(seen.refused.content[0].text).code, -32001);
  assert.equal(seen.called.structuredContent.result, '0x1');
});

test('a page reads what is refused below the protocol, and the id to name', async () => {
  const told = await page.evaluate(async (url) => {
    const wrong = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json', 'Mcp-Protocol-Version': '1999-01-01' }, body: '{"jsonrpc":"2.0","id":7,"method":"ping"}' });
    const closed = await fetch(`${url}/sse`);
    return { status: wrong.status, id: wrong.headers.get('X-Request-Id'), body: await wrong.json(), closed: closed.status, pointer: await closed.json() };
  }, `${process.env.GATEWAY_URL}/mcp`);
  assert.equal(told.status, 400);
  assert.equal(told.body.id, 7);
  assert.equal(told.body.error.data.request_id, told.id);
  assert.equal(told.closed, 410);
  assert.equal(told.pointer.error.data.use, `${process.env.GATEWAY_URL}/mcp`);
});
