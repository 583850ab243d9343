package genesis

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"
)

// Contracts of layer 2 chains that report the cost of data on Ethereum, at their real addresses.
var (
	GasPriceOracle = common.HexToAddress("0x420000000000000000000000000000000000000F")
	NodeInterface  = common.HexToAddress("0x00000000000000000000000000000000000000C8")
)

// Workload is the contract whose calls keep blocks about as full as those of real chains.
var Workload = common.HexToAddress("0x5a4d00000000000000000000000000000000f111")

// l1BaseFee is Ethereum's base fee in wei as layer 2 chains report it.
const l1BaseFee = 2 * params.GWei

// Approximately the parameters that Base's operator set in 2025.
const (
	baseFeeScalar     uint32 = 2_269
	blobBaseFeeScalar uint32 = 1_055_762
	blobBaseFee              = 1_000_000
)

// arbitrumFloor is the minimum base fee of Arbitrum One in wei: 0.01 gwei.
const arbitrumFloor = params.GWei / 100

func (b *builder) gasPriceOracle(admin common.Address) {
	b.place(admin, GasPriceOracle, "GasPriceOracle", big.NewInt(l1BaseFee), big.NewInt(blobBaseFee), baseFeeScalar,
		blobBaseFeeScalar)
}

func (b *builder) nodeInterface(admin common.Address) {
	b.place(admin, NodeInterface, "NodeInterface", big.NewInt(arbitrumFloor), big.NewInt(l1BaseFee))
}
