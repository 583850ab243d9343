// A proxy in front of the gateway that changes nothing and records every call and refusal, so that
// a refusal is seen even when the client retried it; and what the gateway counts of a key.
import assert from 'node:assert/strict';
import { Agent, createServer, request as ask } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { gateway, network } from '../client.js';

const { hostname: host, port } = new URL(gateway);
const patienceMs = 60_000;

// Sends a request to the gateway and returns the status, the headers and the body of its answer.
function send(options, body) {
  return new Promise((resolve, reject) => {
    const out = ask({ host, port, ...options }, async (response) => {
      try {
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(await response.toArray()) });
      } catch (error) {
        reject(error);
      }
    });
    out.on('error', reject);
    out.end(body);
  });
}

const post = (path, key, call, more) => send({
  method: 'POST', path, headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }, ...more,
}, JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }));

// Starts the proxy for a key. urlOf returns the URL of a chain with the key as its password, the
// only setting that clients get.
export async function watch(key) {
  const seen = { calls: {}, batches: [], refusals: [] };
  const agent = new Agent({ keepAlive: true });
  const server = createServer(async (request, response) => {
    try {
      const body = Buffer.concat(await request.toArray());
      const answer = await send({ agent, method: request.method, path: request.url, headers: request.headers }, body);
      record(seen, body, answer);
      delete answer.headers['transfer-encoding'];
      response.writeHead(answer.status, answer.headers).end(answer.body);
    } catch (error) {
      seen.refusals.push({ message: String(error) });
      response.destroy();
    }
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const at = `127.0.0.1:${server.address().port}`;
  return {
    ...seen,
    key,
    base: `http://${at}`,
    urlOf: (chain) => `http://x:${key}@${at}/rpc/${chain}`,
    close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); agent.destroy(); }),
  };
}

// The meter counts methods outside the catalog together, without a name.
const unknownMethod = -32601;

function record(seen, body, answer) {
  const asked = JSON.parse(body);
  const answers = JSON.parse(answer.headers['content-encoding'] === 'gzip' ? gunzipSync(answer.body) : answer.body);
  const errors = [answers].flat().filter(({ error }) => error);
  if (Array.isArray(asked)) seen.batches.push(asked.length);
  for (const { id, method } of [asked].flat()) {
    const name = errors.some((e) => e.id === id && e.error.code === unknownMethod) ? '' : method;
    seen.calls[name] = (seen.calls[name] ?? 0) + 1;
  }
  for (const { error } of errors) seen.refusals.push({ status: answer.status, code: error.code, message: error.message });
}

// Looks every second, since looks are requests too, until one returns something, and returns that.
async function look(what, once) {
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await pause(1_000)) {
    const found = await once();
    if (found) return found;
  }
  throw new Error(`${what}: not within ${patienceMs} ms`);
}

const report = { method: 'tools/call', params: { name: 'get_usage', arguments: { view: 'report' } } };

async function usageOf(key) {
  const { body } = await post('/mcp', key, report, { localAddress: network() });
  return JSON.parse(body).result.structuredContent;
}

// Remembers what a key has used. room(n) waits until its rate window has room for n requests, by
// calls of eth_chainId. charged asserts that the meter counted exactly the calls of the watched
// clients, and charged each its weight of 1, or 0 when it was refused or the cache answered it.
export async function meterOf(key) {
  const before = await usageOf(key);
  const counts = (usage, field) => Object.fromEntries(usage.by_method.map((row) => [row.name, row[field]]));
  const was = counts(before, 'requests');
  let looks = 0;
  return {
    room: (n) => look(`room for ${n} requests`, async () => {
      looks++;
      const { headers } = await post('/rpc/eth_mainnet', key, { method: 'eth_chainId', params: [] });
      return Number(headers['ratelimit-remaining']) >= n;
    }),
    async charged(watched) {
      const wanted = () => {
        const sum = { ...was };
        const add = (method, n) => { sum[method] = (sum[method] ?? 0) + n; };
        if (looks) add('eth_chainId', looks);
        for (const { calls } of watched) for (const [method, n] of Object.entries(calls)) add(method, n);
        return sum;
      };
      const usage = await look('the calls in the usage report', async () => {
        const now = await usageOf(key);
        return now.total_requests >= Object.values(wanted()).reduce((a, b) => a + b, 0) && now;
      });
      assert.deepEqual(counts(usage, 'requests'), wanted());
      for (const row of usage.by_method) {
        assert.equal(row.weighted_units, row.requests - row.cache_hits - row.refusals, row.name);
        if (/balance|call/i.test(row.name)) assert.equal(row.weighted_units, row.requests, row.name);
      }
    },
  };
}
