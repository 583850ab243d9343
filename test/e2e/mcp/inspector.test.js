// The inspector lists the tools strictly and calls each of them: it gets an answer or the expected
// refusal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calls } from './calls.js';
import { inspect } from './inspector.js';

for (const name of ['GATEWAY_URL', 'API_KEY']) {
  if (!process.env[name]) throw new Error(`set ${name}: see README.md`);
}
const url = `${process.env.GATEWAY_URL}/mcp`;

// Parses the printed result, or fails with the output.
function resultOf({ code, out, err }, what) {
  try {
    const printed = JSON.parse(out);
    return printed.result ?? printed;
  } catch {
    return assert.fail(`${what}: exit code ${code}\n${out}\n${err}`);
  }
}

const call = (tool, key, args) => inspect(url, key, '--method', 'tools/call', '--tool-name', tool, '--tool-args-json', JSON.stringify(args));

test('the list is that of the table, and no schema in it is one that some client could not use', async () => {
  const listed = await inspect(url, '', '--method', 'tools/list', '--strict');
  assert.equal(listed.code, 0, listed.err);
  const names = resultOf(listed, 'tools/list').tools.map((tool) => tool.name);
  assert.deepEqual(names.toSorted(), calls.map((c) => c.tool).toSorted());
  assert.equal(new Set(names).size, 35);
});

// Later calls need the results of earlier ones, so they run in order.
test('every tool answers', async (t) => {
  const seen = {};
  for (const { tool, key, args = {}, has, refused } of calls) {
    await t.test(tool, async () => {
      const bearer = { account: process.env.API_KEY, door: seen.get_key?.key }[key];
      const given = typeof args === 'function' ? await args(seen) : args;
      const result = resultOf(await call(tool, bearer, given), tool);
      const [{ text }] = result.content;
      if (refused) {
        assert.equal(result.isError, true, text);
        assert.equal(JSON.parse(text).code, refused, text);
        return;
      }
      assert.notEqual(result.isError, true, text);
      assert.deepEqual(JSON.parse(text), result.structuredContent);
      for (const member of has) assert.ok(member in result.structuredContent, `${member} is missing in ${text}`);
      seen[tool] = result.structuredContent;
    });
  }
});

test('what needs a key says so without one, and does nothing', async () => {
  const refusal = async (tool, key, args) => {
    const result = resultOf(await call(tool, key, args), tool);
    assert.equal(result.isError, true, JSON.stringify(result));
    assert.equal(result.structuredContent, undefined);
    return JSON.parse(result.content[0].text);
  };
  assert.equal((await refusal('rpc_call', '', { chain: 'eth_mainnet', method: 'eth_chainId' })).code, -32001);
  assert.equal((await refusal('list_api_keys', `cag_${'0'.repeat(49)}`, {})).code, -32001);
  const wrong = await refusal('get_tx_status', process.env.API_KEY, { chain: 'eth_mainnet' });
  assert.equal(wrong.code, -32602);
  assert.deepEqual(wrong.data.fields.map((field) => field.field), ['hash']);
});
