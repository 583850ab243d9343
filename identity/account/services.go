package account

import "slices"

// Service is a part of the gateway that can be switched off or capped on an account or a key
// (docs/interface.md, 2.2.1).
type Service string

// The services.
const (
	RPC       Service = "rpc"
	Data      Service = "data"
	Gas       Service = "gas"
	TxStatus  Service = "tx_status"
	ENS       Service = "ens"
	Prices    Service = "prices"
	Contracts Service = "contracts"
	Utils     Service = "utils"
)

var services = []Service{RPC, Data, Gas, TxStatus, ENS, Prices, Contracts, Utils}

// Services lists the services in the order of the interface.
func Services() []Service { return slices.Clone(services) }

// ParseService parses the exact name of a service.
func ParseService(name string) (Service, bool) {
	s := Service(name)
	return s, slices.Contains(services, s)
}
