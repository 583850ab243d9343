// One call of every tool: with which key and arguments, and what comes back. The list must match
// tools/list.
//
// key      account: a key that may manage its account; door: the anonymous key of get_key; none: no key
// args     the arguments, or a function of earlier tools' results (by tool) and of the wallet
// has      members that the answer must have (docs/interface.md, 2.4)
// refused  the expected error code, where a refusal is right; without a key, others give -32001
import { Wallet } from 'ethers';

const usdc = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const holder = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'; // the second of the sandbox's public test accounts
const transfer = `0xa9059cbb${holder.slice(2).toLowerCase().padStart(64, '0')}${'f4240'.padStart(64, '0')}`;
export const wallet = Wallet.createRandom();
const agent = Wallet.createRandom();

export const calls = [
  { tool: 'get_key', key: 'none', has: ['key', 'key_prefix', 'door', 'fences', 'doorways', 'terms', 'skill'] },
  { tool: 'list_plans', key: 'none', has: ['plans', 'enterprise', 'signup_url'] },
  { tool: 'get_quote', key: 'none', args: { chain: 'eth_mainnet', method: 'eth_call', tier: 'fast' }, has: ['chain', 'method', 'offered', 'units', 'tier', 'multiplier', 'lanes', 'note'] },
  { tool: 'explain_error', key: 'none', args: { code: -32016 }, has: ['code', 'http', 'title', 'meaning', 'steps'] },
  { tool: 'recommend', key: 'none', args: { what: 'chain', family: 'evm', prefer: 'latency' }, has: ['pick', 'reason', 'ranked', 'measured_at', 'note'] },
  {
    tool: 'migrate', key: 'none', args: { config: 'ETH_RPC=https://eth-mainnet.g.alchemy.com/v2/abcdefghijklmnopqrstuvwxyz012345' },
    has: ['ready', 'summary', 'endpoints', 'methods', 'changes', 'next_steps'],
  },
  { tool: 'join_enterprise_wishlist', key: 'none', args: { items: 'A node of our own for the tests.', email: 'wishes@example.org' }, has: ['sent', 'contact'] },
  { tool: 'join_waitlist', key: 'none', args: { email_address: 'waiting@example.org', qualifier: 'developer' }, has: ['joined', 'already_on_list'] },

  { tool: 'bind_key_start', key: 'door', args: { address: wallet.address }, has: ['message_to_sign', 'expires_in_seconds', 'note'] },
  {
    tool: 'bind_key_complete', key: 'door',
    args: async (seen) => ({ address: wallet.address, signature: await wallet.signMessage(seen.bind_key_start.message_to_sign) }),
    has: ['bound', 'door', 'key_prefix', 'bound_address', 'fences', 'doorways', 'terms', 'skill'],
  },
  { tool: 'claim_agent_start', key: 'account', args: { name: 'inspector', address: agent.address }, has: ['address', 'message_to_sign', 'expires_in_seconds', 'note'] },
  {
    tool: 'claim_agent_complete', key: 'account',
    args: async (seen) => ({ address: agent.address, signature: await agent.signMessage(seen.claim_agent_start.message_to_sign) }),
    has: ['agent', 'address', 'monthly_request_cap', 'plaintext_token', 'note'],
  },
  { tool: 'create_api_key', key: 'account', args: { name: 'made by a tool', monthly_request_cap: 1000 }, has: ['id', 'name', 'monthly_request_cap', 'prefix', 'plaintext_token', 'note'] },
  {
    tool: 'configure_key', key: 'account', args: (seen) => ({ id: seen.create_api_key.id, enabled: ['rpc', 'utils'], caps: { utils: 10 } }),
    has: ['id', 'name', 'window', 'key_id', 'services'],
  },
  { tool: 'list_api_keys', key: 'account', args: { scope: 'keys' }, has: ['count', 'keys'] },
  { tool: 'revoke_api_key', key: 'account', args: (seen) => ({ api_key_id: seen.create_api_key.id }), has: ['id', 'name', 'revoked_at'] },
  { tool: 'get_billing_status', key: 'account', has: ['tier', 'payments_live', 'billing_customer', 'subscription', 'payment_method', 'founding_reservation', 'packs', 'soft_landing'] },
  { tool: 'configure_services', key: 'account', args: {}, has: ['window', 'services'] },
  { tool: 'update_account', key: 'account', args: { time_zone: 'Europe/Paris', use_case: 'indexing' }, has: [] },
  { tool: 'get_usage', key: 'account', args: { view: 'report', hours: 24 }, has: ['since', 'total_requests', 'weighted_units', 'by_class', 'cache_hits', 'success_rate', 'by_key', 'by_method', 'by_chain'] },
  { tool: 'get_statement', key: 'account', args: { period: 'list' }, has: [] },
  { tool: 'what_can_i_do', key: 'account', has: ['you', 'budgets', 'fences_as_doorways', 'volume_30d_units', 'ladder_at_your_volume', 'break_even', 'recommendation', 'active_advice', 'account_features', 'doors', 'pricing'] },
  { tool: 'manage_tickets', key: 'account', args: { action: 'create', subject: 'A ticket of the tests', message: 'Nothing is wrong.', category: 'question' }, has: ['reference', 'subject', 'status', 'category', 'priority', 'channel', 'created_at', 'last_activity_at', 'url'] },
  { tool: 'manage_feedback', key: 'account', args: { action: 'submit', kind: 'praise', title: 'The tests pass' }, has: ['id', 'kind', 'title', 'status', 'created_at'] },
  { tool: 'buy_pack', key: 'account', args: { size: 's' }, has: ['checkout_url', 'size', 'units', 'price_usd', 'note'] },

  { tool: 'rpc_call', key: 'account', args: { chain: 'eth_mainnet', method: 'eth_getBalance', params: [holder, 'latest'] }, has: ['jsonrpc', 'id', 'result'] },
  { tool: 'get_balances', key: 'account', args: { chain: 'eth_mainnet', address: holder }, has: ['chain', 'address', 'native', 'tokens'] },
  { tool: 'get_history', key: 'account', args: { chain: 'eth_mainnet', address: holder }, has: ['chain', 'address', 'transfers'] },
  { tool: 'get_prices', key: 'account', args: { kind: 'gas', chain: 'base_mainnet' }, has: ['chain', 'unit_weight'] },
  { tool: 'get_tx_status', key: 'account', args: { chain: 'eth_mainnet', hash: `0x${'ab'.repeat(32)}` }, has: ['chain', 'hash', 'status'] },
  { tool: 'resolve_ens', key: 'account', args: { query: 'alice.sandbox.eth' }, has: ['name', 'address', 'resolved'] },
  { tool: 'get_abi', key: 'account', args: { chain: 'eth_mainnet', address: usdc }, has: ['chain', 'address', 'verified'] },
  { tool: 'decode_calldata', key: 'account', args: { chain: 'eth_mainnet', address: usdc, calldata: transfer }, has: ['chain', 'address'] },
  { tool: 'convert_evm', key: 'account', args: { op: 'convert', input: '1.5', from: 'eth', to: 'wei' }, has: [] },
  {
    tool: 'verify_signature', key: 'account', args: async () => ({ mode: 'personal', message: 'hello', signature: await wallet.signMessage('hello'), address: wallet.address }),
    has: [],
  },
];
