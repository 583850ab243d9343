import os

from web3 import Web3

w3 = Web3(Web3.HTTPProvider(
    "<<.URL>>/rpc/eth_mainnet",
    request_kwargs={"headers": {
        "Authorization": f"Bearer {os.environ['API_KEY']}",
        "Content-Type": "application/json",
    }},
))

print(w3.eth.block_number)
