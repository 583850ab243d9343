// The programs in the documents must do what their pages say: quick starts make their call, and
// those of error codes handle the refusal.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HDNodeWallet, keccak256 } from 'ethers';
import { gateway, mnemonic } from './client.js';
import { inFrontOf, pageOf, workshop } from './pages.js';
import { stranger } from './payer.js';

let shop;
before(() => { shop = workshop(); });
after(() => shop.close());

const key = { API_KEY: process.env.API_KEY, CHAIN_ACCESS_KEY: process.env.API_KEY, CREDENTIAL: `cagx_${'0'.repeat(49)}` };

// Runs a program of a page against another URL.
const runAt = (url, text, env) => {
  assert.ok(text?.includes(gateway), `a program that does not name the gateway: ${text}`);
  return shop.run(text.replaceAll(gateway, url), { ...key, ...env }, /^(#|curl)/.test(text));
};

// Runs a program whose first request is refused as the page says.
async function refused(page, text, env) {
  let times = 0;
  const front = await inFrontOf(gateway, () => {
    times += 1;
    const { retry_after: seconds } = page.example.error.data;
    return times === 1 && { status: page.status, headers: seconds ? { 'Retry-After': String(seconds) } : {}, body: page.example };
  });
  try {
    return { ...(await runAt(front.url, text, env)), times };
  } finally {
    await front.close();
  }
}

test('the quick starts make their call', async (t) => {
  const { programs } = await pageOf(`${gateway}/docs/quickstart`);
  for (const id of ['start-viem', 'start-ethers', 'start-solana-kit']) {
    await t.test(id, async () => {
      const ran = await runAt(gateway, programs[id]);
      assert.deepEqual([ran.code, ran.stderr], [0, ''], ran.stdout);
      assert.match(ran.stdout, /^\d+n?\n$/);
    });
  }
  await t.test('start-curl', async () => {
    const ran = await runAt(gateway, programs['start-curl']);
    assert.match(JSON.parse(ran.stdout).result, /^0x[1-9a-f]/, ran.stderr);
  });
  await t.test('MCP', async () => {
    const ran = await runAt(gateway, programs['call-tool']);
    const { result } = JSON.parse(ran.stdout);
    assert.notEqual(result.isError, true, ran.stdout);
  });
});

test('every code has a page, and its programs name the code', async () => {
  const { html } = await pageOf(`${gateway}/docs/errors`);
  const codes = [...html.matchAll(/href="\/docs\/errors\/(-\d+)"/g)].map(([, code]) => Number(code));
  assert.ok(codes.length > 20, String(codes));
  for (const code of codes) {
    const page = await pageOf(`${gateway}/docs/errors/${code}`);
    assert.equal(page.example.error.code, code);
    for (const [id, text] of Object.entries(page.programs)) {
      if (id !== 'curl') assert.ok(text.includes(`=== ${code}`) || text.includes(`!== ${code}`), `${code}: ${text}`);
    }
  }
});

// What a page's programs do when they are refused: wait and succeed, or print what to do.
const waits = [-32005, -32020];
const tells = [-32001, -32007, -32018, -32601];
for (const code of [...waits, ...tells]) {
  test(`the programs of ${code}`, async (t) => {
    const page = await pageOf(`${gateway}/docs/errors/${code}`);
    assert.deepEqual(Object.keys(page.programs), ['curl', 'viem', 'ethers']);
    for (const client of ['viem', 'ethers']) {
      await t.test(client, async () => {
        const ran = await refused(page, page.programs[client]);
        assert.equal(ran.code, 0, ran.stderr);
        if (waits.includes(code)) {
          assert.match(ran.stdout, /^\d+n?\n$/, ran.stderr);
          assert.equal(ran.times, 2, 'the loop is what sends it again');
        } else {
          assert.ok(ran.stderr.includes(page.example.error.message), ran.stderr);
          assert.deepEqual([ran.stdout, ran.times], ['', 1]);
        }
        // They must not mistake another refusal for this one.
        const other = { ...page, example: { ...page.example, error: { ...page.example.error, code: -32099 } }, status: 400 };
        assert.notEqual((await refused(other, page.programs[client])).code, 0);
      });
    }
    await t.test('curl', async () => {
      const ran = await refused(page, page.programs.curl);
      const shown = waits.includes(code) ? /"result":"0x/ : code === -32001 ? /"error"/ : new RegExp(`"code":${code}`);
      assert.match(ran.stdout, shown, ran.stderr);
    });
  });
}

for (const code of [-32010, -32024, -32025, -32026, -32027, -32028, -32030]) {
  test(`the programs of ${code}, which calls of chains never meet`, async () => {
    const page = await pageOf(`${gateway}/docs/errors/${code}`);
    assert.deepEqual(Object.keys(page.programs), ['curl', 'javascript']);
    if (page.programs.javascript.includes('/mcp')) {
      page.status = 200;
      page.example = { jsonrpc: '2.0', id: 1, result: { isError: true, content: [{ type: 'text', text: JSON.stringify(page.example.error) }] }, error: page.example.error };
    }
    const ran = await refused(page, page.programs.javascript);
    assert.equal(ran.code, 0, ran.stderr);
    assert.ok(ran.stderr.includes(page.example.error.message), ran.stderr + ran.stdout);
    assert.match((await refused(page, page.programs.curl)).stdout, new RegExp(`"code":\\s*${code}|code\\\\":${code}`));
  });
}

// A transaction whose answer was lost: it is on the chain already, it is pending but not found
// where the program looks, or it never arrived.
test('the programs of -32017 look the transaction up, and send nothing but the identical bytes again', async (t) => {
  const page = await pageOf(`${gateway}/docs/errors/-32017`);
  const env = { PRIVATE_KEY: HDNodeWallet.fromPhrase(mnemonic, '', "m/44'/60'/0'/0/8").privateKey };
  for (const client of ['viem', 'ethers']) {
    for (const [title, arrived, hidden] of [['it arrived', true, false], ['it arrived, and the look-up says null', true, true], ['it never arrived', false, false]]) {
      await t.test(`${client}, ${title}`, async () => {
        const sent = [];
        let hide = hidden;
        const front = await inFrontOf(gateway, async (body, on) => {
          const call = JSON.parse(body);
          if (call.method === 'eth_getTransactionByHash' && hide) {
            hide = false;
            return { status: 200, headers: {}, body: { jsonrpc: '2.0', id: call.id, result: null } };
          }
          if (call.method !== 'eth_sendRawTransaction' || sent.push(call.params[0]) > 1) return null;
          if (arrived) assert.equal((await (await on()).json()).error, undefined);
          const { error } = structuredClone(page.example);
          error.data.transaction_hash = keccak256(call.params[0]);
          return { status: page.status, headers: {}, body: { jsonrpc: '2.0', id: call.id, error } };
        });
        try {
          const ran = await runAt(front.url, page.programs[client], env);
          assert.deepEqual([ran.code, ran.stderr], [0, '']);
          assert.match(ran.stdout, hidden ? /^.+\n(success|1)\n$/s : /^(success|1)\n$/);
          assert.equal(sent.length, arrived && !hidden ? 1 : 2);
          assert.equal(new Set(sent).size, 1, 'it was signed again');
        } finally {
          await front.close();
        }
      });
    }
  }
});

test('the walk through paying per call buys units and calls with them', async () => {
  const payer = await stranger(gateway);
  try {
    const { programs } = await pageOf(`${gateway}/docs/pay-per-call`);
    // The first time, the service cannot check the payment, which may happen.
    let redeems = 0;
    const front = await inFrontOf(gateway, (body) => {
      if (!body.includes('"tx_hash"') || (redeems += 1) > 1) return null;
      return { status: 503, headers: { 'Retry-After': '1' }, body: { error: { code: -32020, message: 'The chain does not answer right now.' } } };
    });
    const env = { PRIVATE_KEY: payer.wallet.privateKey, BASE_RPC_URL: payer.rpcURL };
    const program = programs['pay-ethers'].replace('menu.redeem,', `menu.redeem.replace('${gateway}', '${front.url}'),`);
    const ran = await shop.run(program, env).finally(front.close);
    assert.deepEqual([ran.code, ran.stderr], [0, ''], ran.stdout);
    assert.match(ran.stdout, new RegExp(`^paid with 0x[0-9a-f]{64}\\n${payer.menu.unitsPerPayment} units until \\d{4}-.*\\n0x[1-9a-f][0-9a-f]*\\n$`));
    assert.ok(redeems >= 2, `${redeems} requests to redeem`);
    const menu = await shop.run(programs['pay-menu'], {}, true);
    assert.equal(JSON.parse(menu.stdout).payTo, payer.menu.payTo);
  } finally {
    payer.close();
  }
});
