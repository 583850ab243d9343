from web3 import Web3

w3 = Web3(Web3.HTTPProvider("https://rpc.ankr.com/arbitrum/ab0SECRET5ankr42424242"))
trace = w3.provider.make_request("debug_traceTransaction", [tx_hash])
