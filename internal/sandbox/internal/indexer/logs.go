package indexer

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// The categories of alchemy_getAssetTransfers.
const (
	categoryExternal = "external"
	categoryInternal = "internal"
	categoryERC20    = "erc20"
	categoryERC721   = "erc721"
	categoryERC1155  = "erc1155"
	categorySpecial  = "specialnft"
)

// The transfer events of tokens. ERC-20 and ERC-721 share one, whose third parameter ERC-721
// indexes too.
var (
	transferTopic = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
	singleTopic   = crypto.Keccak256Hash([]byte("TransferSingle(address,address,address,uint256,uint256)"))
	batchTopic    = crypto.Keccak256Hash([]byte("TransferBatch(address,address,address,uint256[],uint256[])"))
)

const word = 32

// fromLog reads a transfer from a log; it returns false when the log is not a transfer.
func fromLog(t transfer, log *types.Log) (transfer, bool) {
	t.contract, t.id = &log.Address, fmt.Sprintf("%s:log:%d", t.hash.Hex(), log.Index)
	if len(log.Topics) == 0 {
		return t, false
	}
	parties := func(from, to common.Hash) {
		recipient := common.BytesToAddress(to[:])
		t.from, t.to = common.BytesToAddress(from[:]), &recipient
	}
	switch topics := log.Topics; {
	case topics[0] == transferTopic && len(topics) == 3 && len(log.Data) == word:
		parties(topics[1], topics[2])
		t.category, t.value = categoryERC20, new(big.Int).SetBytes(log.Data)
	case topics[0] == transferTopic && len(topics) == 4 && len(log.Data) == 0:
		parties(topics[1], topics[2])
		t.category, t.tokenID = categoryERC721, topics[3].Big()
	case topics[0] == singleTopic && len(topics) == 4 && len(log.Data) == 2*word:
		parties(topics[2], topics[3])
		t.category = categoryERC1155
		t.batch = []batchItem{{number(log.Data[:word]), number(log.Data[word:])}}
	case topics[0] == batchTopic && len(topics) == 4:
		parties(topics[2], topics[3])
		t.category, t.batch = categoryERC1155, batch(log.Data)
	default:
		return t, false
	}
	return t, t.category != categoryERC1155 || t.batch != nil
}

func number(b []byte) *hexutil.Big { return (*hexutil.Big)(new(big.Int).SetBytes(b)) }

// batch decodes two arrays of the same length in the standard ABI layout; nil for anything else.
func batch(data []byte) []batchItem {
	count := uint64(0)
	if len(data) >= 4*word {
		count = new(big.Int).SetBytes(data[2*word : 3*word]).Uint64()
	}
	if count == 0 || count > uint64(len(data)/word) || uint64(len(data)) != (4+2*count)*word {
		return nil
	}
	items := make([]batchItem, count)
	for i := range count {
		id, value := (3+i)*word, (4+count+i)*word
		items[i] = batchItem{number(data[id : id+word]), number(data[value : value+word])}
	}
	return items
}
