package offline

import (
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
)

// UnitNames lists the units, for descriptions and refusals.
const UnitNames = "wei, kwei (babbage), mwei (lovelace), gwei (shannon, nanoeth), szabo (microether), finney " +
	"(milliether), eth (ether), kether (grand), mether, gether, tether"

// decimals has the power of ten of wei for each name of a unit in ethers, viem and web3.
var decimals = map[string]int{
	"wei":  0,
	"kwei": 3, "babbage": 3, "femtoether": 3,
	"mwei": 6, "lovelace": 6, "picoether": 6,
	"gwei": 9, "shannon": 9, "nanoether": 9, "nanoeth": 9, "nano": 9,
	"szabo": 12, "microether": 12, "micro": 12,
	"finney": 15, "milliether": 15, "milli": 15,
	"eth": 18, "ether": 18,
	"kether": 21, "grand": 21,
	"mether": 24,
	"gether": 27,
	"tether": 30,
}

// Unit is a unit of ether.
type Unit struct {
	Name     string // as it was given, in lower case
	decimals int
}

// ParseUnit returns the unit that a field names, in any case. Other names are refused.
func ParseUnit(field, name string) (Unit, *fault.Error) {
	const longest = 16
	if len(name) <= longest {
		lower := strings.ToLower(name)
		if d, known := decimals[lower]; known {
			return Unit{lower, d}, nil
		}
	}
	return Unit{}, refuse(field, "%s is no unit. It takes %s.", shown(name), UnitNames)
}
