// Programs that are told https://x:KEY@host and nothing else: each sends the key as Basic
// credentials. With and without a slash at the end of the path. defaults_test.go does the same in Go.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { anonymousKey, gateway } from '../client.js';

const run = promisify(execFile);
const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}';
const cast = process.env.CAST ?? fileURLToPath(new URL('node_modules/@foundry-rs/cast-linux-amd64/bin/cast', import.meta.url));
const account = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const usdc = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';

const python = `
import sys, requests
answer = requests.post(sys.argv[1], json={"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []})
answer.raise_for_status()
print(int(answer.json()["result"], 16))
`;

// urllib sends no credentials of a URL by itself; this is how its documentation has it send them.
const urllib = `
import json, sys, urllib.request
from urllib.parse import urlsplit
parts = urlsplit(sys.argv[1])
plain = parts._replace(netloc=f"{parts.hostname}:{parts.port}").geturl()
passwords = urllib.request.HTTPPasswordMgrWithPriorAuth()
passwords.add_password(None, plain, parts.username, parts.password, is_authenticated=True)
opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
call = {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}
request = urllib.request.Request(plain, json.dumps(call).encode(), {"Content-Type": "application/json"})
print(int(json.load(opener.open(request))["result"], 16))
`;

const programs = {
  async curl(url) {
    const { stdout } = await run('curl', ['-sS', '--fail', url, '-H', 'Content-Type: application/json', '-d', body]);
    return Number(JSON.parse(stdout).result);
  },
  'Python requests': async (url) => Number((await run('python3', ['-c', python, url])).stdout),
  'Python urllib': async (url) => Number((await run('python3', ['-c', urllib, url])).stdout),
  async cast(url) {
    const ask = async (...args) => (await run(cast, [...args, '--rpc-url', url])).stdout.trim();
    assert.equal(await ask('chain-id'), '1');
    assert.ok(BigInt(await ask('balance', account)) > 0n);
    assert.equal(await ask('call', usdc, 'decimals()(uint8)'), '6');
    assert.ok(Number(await ask('block', 'latest', '--field', 'number')) > 0);
    assert.ok(BigInt(await ask('gas-price')) > 0n);
    return Number(await ask('block-number'));
  },
};

describe('a URL with the key as its password', { concurrency: true }, () => {
  for (const [name, head] of Object.entries(programs)) {
    for (const [plan, keyOf] of Object.entries({ 'an anonymous': anonymousKey, 'a Builder': () => process.env.API_KEY })) {
      test(`${name} with ${plan} key`, async () => {
        const url = `${gateway.replace('://', `://x:${await keyOf()}@`)}/rpc/eth_mainnet`;
        for (const each of [url, `${url}/`]) assert.ok(await head(each) > 0, each.slice(-12));
      });
    }
  }
});
