// The official SDK's client in Node.js: it validates every structured answer against the tool's
// output schema.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { calls } from './calls.js';

for (const name of ['GATEWAY_URL', 'API_KEY']) {
  if (!process.env[name]) throw new Error(`set ${name}: see README.md`);
}
const open = [];
after(() => Promise.all(open.map((client) => client.close())));

async function connect(key) {
  const client = new Client({ name: 'gateway-e2e', version: '1.0.0' });
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(`${process.env.GATEWAY_URL}/mcp`), { requestInit: { headers } }));
  open.push(client);
  return client;
}

const refusalOf = (result) => {
  assert.equal(result.isError, true, JSON.stringify(result));
  return JSON.parse(result.content[0].text);
};

test('without a key it connects, lists the tools and is told how to get one', async () => {
  const client = await connect();
  assert.equal(client.getServerVersion().version, '1.4.0');
  assert.match(client.getInstructions(), /get_key/);
  await client.ping();
  const { tools, nextCursor } = await client.listTools();
  assert.equal(nextCursor, undefined);
  assert.deepEqual(tools.map((tool) => tool.name).toSorted(), calls.map((c) => c.tool).toSorted());
  for (const { name, annotations } of tools) {
    for (const hint of ['readOnlyHint', 'idempotentHint', 'destructiveHint', 'openWorldHint']) assert.equal(typeof annotations[hint], 'boolean', `${name} ${hint}`);
  }
  const refusal = refusalOf(await client.callTool({ name: 'rpc_call', arguments: { chain: 'eth_mainnet', method: 'eth_blockNumber' } }));
  assert.equal(refusal.code, -32001);
  assert.match(refusal.data.support, /^\/support\/new\?request_id=/);
});

test('server.json names this endpoint and this version', async () => {
  const entry = await (await fetch(`${process.env.GATEWAY_URL}/server.json`)).json();
  assert.deepEqual(entry.remotes.map((remote) => remote.url), [`${process.env.GATEWAY_URL}/mcp`]);
  assert.equal(entry.version, (await connect()).getServerVersion().version);
});

test('what needs no key works without', async () => {
  const client = await connect();
  for (const { tool, args } of calls.filter((c) => c.key === 'none' && !/^(get_key|join_)/.test(c.tool))) {
    const result = await client.callTool({ name: tool, arguments: args });
    assert.notEqual(result.isError, true, `${tool}: ${JSON.stringify(result.content)}`);
    assert.ok(result.structuredContent, tool);
  }
});

test('with a key tools answer as HTTP does, and their answers fit their schemas', async () => {
  const client = await connect(process.env.API_KEY);
  await client.listTools(); // from here on the client validates answers against the schemas
  const answer = await client.callTool({ name: 'rpc_call', arguments: { chain: 'base_mainnet', method: 'eth_chainId' } });
  assert.deepEqual(answer.structuredContent, { jsonrpc: '2.0', id: null, result: '0x2105' });
  // Tools that change nothing and need no results of others.
  const reading = /^(list_|get_(billing|usage|statement|balances|history|prices|tx|abi)|what_|resolve_|decode_|convert_|verify_|configure_services)/;
  for (const { tool, args = {} } of calls.filter((c) => c.key === 'account' && reading.test(c.tool))) {
    const result = await client.callTool({ name: tool, arguments: typeof args === 'function' ? await args({}) : args });
    assert.notEqual(result.isError, true, `${tool}: ${JSON.stringify(result.content)}`);
    assert.ok(result.structuredContent, tool);
  }
});

test('what the protocol itself refuses is its error', async () => {
  const client = await connect(process.env.API_KEY);
  await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), (error) => error.code === -32602);
  await assert.rejects(client.listResources(), /resources/);
});
