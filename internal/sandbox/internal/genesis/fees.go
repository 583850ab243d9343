package genesis

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"
)

// Where chains of layer 2 say what data on Ethereum costs. Both addresses are the real ones.
var (
	GasPriceOracle = common.HexToAddress("0x420000000000000000000000000000000000000F")
	NodeInterface  = common.HexToAddress("0x00000000000000000000000000000000000000C8")
)

// Workload is the contract that keeps blocks as full as those of real chains.
var Workload = common.HexToAddress("0x5a4d00000000000000000000000000000000f111")

// l1BaseFee is Ethereum's base fee as the chains of layer 2 see it, in wei.
const l1BaseFee = 2 * params.GWei

// The figures that Base's operator set in 2025, near enough.
const (
	baseFeeScalar     uint32 = 2_269
	blobBaseFeeScalar uint32 = 1_055_762
	blobBaseFee              = 1_000_000
)

// arbitrumFloor is the least base fee of Arbitrum One in wei: 0.01 gwei.
const arbitrumFloor = params.GWei / 100

func (b *builder) gasPriceOracle(admin common.Address) {
	b.place(admin, GasPriceOracle, "GasPriceOracle", big.NewInt(l1BaseFee), big.NewInt(blobBaseFee), baseFeeScalar,
		blobBaseFeeScalar)
}

func (b *builder) nodeInterface(admin common.Address) {
	b.place(admin, NodeInterface, "NodeInterface", big.NewInt(arbitrumFloor), big.NewInt(l1BaseFee))
}
