package payments

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service/operation"
)

// Menu is the prices of paying per call and how to pay (docs/interface.md, 2.2).
type Menu struct {
	X402Version           int        `json:"x402Version" doc:"version of the protocol whose words the menu uses"`
	Scheme                string     `json:"scheme" doc:"how is paid: exact is a transfer of a stated amount" example:"exact"`
	Network               string     `json:"network" doc:"chain that is paid on, as the protocol names it" example:"base"`
	Asset                 string     `json:"asset" doc:"what is paid in" example:"USDC"`
	MainnetLive           bool       `json:"mainnetLive" doc:"whether money of the main network buys units today; while it is false, pay nothing there"`
	PayTo                 string     `json:"payTo,omitempty" doc:"address that the transfer goes to; absent while nothing is sold" example:"0x70997970C51812dc3A010C7d01b50e0d17dc79C8"`
	AssetAddress          string     `json:"assetAddress" doc:"the asset's contract, 6 decimals" example:"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"`
	ChainID               uint64     `json:"chainId" doc:"EIP-155 id of the chain" example:"8453"`
	MinConfirmations      uint64     `json:"minConfirmations" doc:"blocks that must stand on the transfer's own before it is redeemed"`
	Menu                  string     `json:"menu" format:"uri" doc:"where this menu is"`
	Redeem                string     `json:"redeem" format:"uri" doc:"where to POST redeemBody once the transfer is deep enough"`
	Header                string     `json:"header" doc:"header of a call to the relay that carries the credential" example:"X-PAYMENT"`
	RedeemBody            RedeemBody `json:"redeemBody" doc:"shape of the body"`
	MessageToSign         string     `json:"messageToSign" doc:"what the paying wallet signs by personal_sign (EIP-191), with the transaction's hash, 0x and 64 digits in lower case, for {tx_hash} and everything else as it stands; lines end with one line feed, none follows the last. Its time is good for an hour"`
	Credential            string     `json:"credential" doc:"what redeeming gives"`
	MaxUnitsPerSettlement plan.Units `json:"maxUnitsPerSettlement" doc:"the most units that one settlement gives, however much is paid"`
	UnitsPerPayment       plan.Units `json:"unitsPerPayment" doc:"units that netAmountRequired buys"`
	WindowSeconds         int64      `json:"windowSeconds" doc:"how long the units can be used, from the first successful redeem"`
	TaxCountry            string     `json:"taxCountry" doc:"ISO 3166-1 code of where the caller is, which VAT goes by; empty when not located" example:"DE"`
	Tax                   string     `json:"tax" doc:"what VAT means for this caller"`
	Tiers                 []MenuTier `json:"tiers" doc:"from the cheapest to the dearest"`
}

// RedeemBody describes the request body of a redeem.
type RedeemBody struct {
	TxHash    string `json:"tx_hash"`
	Tier      string `json:"tier"`
	Signature string `json:"signature"`
}

// MenuTier is a tier of the menu. Amounts are atomic units of the asset, a millionth of a dollar
// each.
type MenuTier struct {
	Name              plan.Tier         `json:"name" enum:"cheap,balanced,fast"`
	Label             string            `json:"label"`
	PriceAtomicPer1k  plan.Atomic       `json:"priceAtomicPer1kUnits" doc:"price of 1,000 units without VAT, in atomic units"`
	USDPerMillion     operation.Dollars `json:"usdPerMillionUnits" doc:"price of a million units without VAT, in US dollars"`
	NetAmountRequired string            `json:"netAmountRequired" doc:"the least that a settlement pays, in atomic units; buys unitsPerPayment where no VAT applies" example:"90000"`
	MaxAmountRequired string            `json:"maxAmountRequired" doc:"the same with VAT: what buys unitsPerPayment where VAT applies, in atomic units" example:"108000"`
}

func (h *handlers) getMenu() *operation.Operation[operation.Nothing, Menu] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_menu", Title: "What calls cost without an account", Access: operation.Everybody, Reads: true,
		Route: operation.Route{Method: http.MethodGet, Path: "/x402", Status: http.StatusOK},
		Description: "Gives the menu of paying per call: what is paid where, for how many units, on which tier, with " +
			"which VAT for this caller. Pay by a transfer of the asset, redeem its hash for a credential, and call " +
			"the relay with that. Costs nothing.",
	}, func(_ context.Context, c *operation.Call, _ operation.Nothing) (Menu, error) {
		return h.menu(c.CountryCode()), nil
	})
}

// menu returns the menu for a caller of a country.
func (h *handlers) menu(country string) Menu {
	t := h.Terms
	m := Menu{
		X402Version: plan.X402Version, Scheme: plan.X402Scheme, Network: t.Network(x402.Version1),
		Asset: plan.X402Asset, MainnetLive: t.OnMainnet(), AssetAddress: t.Asset.Checksummed(), ChainID: t.Chain,
		MinConfirmations: t.Confirmations, Menu: h.PublicURL + x402.MenuPath, Redeem: h.PublicURL + "/x402/redeem",
		Header: x402.PaymentV1Header,
		RedeemBody: RedeemBody{
			TxHash: "0x and 64 hexadecimal digits: the transfer's transaction", Tier: "cheap, balanced or fast",
			Signature: "0x and the signature of messageToSign by the wallet that paid",
		},
		MessageToSign: t.MessageShape(h.Now()), MaxUnitsPerSettlement: plan.MaxUnitsPerSettlement,
		UnitsPerPayment: plan.UnitsPerPayment, WindowSeconds: int64(plan.SettlementWindow / time.Second),
		TaxCountry: country, Tax: taxText(country),
	}
	if m.Credential = closedCredential; t.Open() {
		m.PayTo = t.PayTo.Checksummed()
		m.Credential = fmt.Sprintf(
			"One secret of cagx_ and 49 letters and digits, shown once by redeem and carried in %s on calls to "+
				"/rpc/{chain}. It holds the units that the net amount bought and is refused with HTTP 402 when fewer "+
				"are left than a call weighs, and after the window. The transaction's hash alone is public and opens "+
				"nothing. Redeeming again within the window gives a new secret for the units that are left, and ends "+
				"the one before.",
			x402.PaymentV1Header)
	}
	for _, tier := range plan.PerCallTiers() {
		m.Tiers = append(m.Tiers, MenuTier{
			Name: tier.Tier, Label: tier.Label, PriceAtomicPer1k: tier.PricePer1kUnits,
			USDPerMillion:     operation.Dollars(tier.CentsPerMillion()),
			NetAmountRequired: atomic(tier.NetAmountRequired()),
			MaxAmountRequired: atomic(tier.MaxAmountRequired()),
		})
	}
	return m
}

const closedCredential = "Nothing is sold per call here today, and nothing can be redeemed: pay nothing."

func atomic(a plan.Atomic) string { return strconv.FormatInt(int64(a), 10) }

// taxText explains VAT to a caller of a country (docs/interface.md, 2.8.4).
func taxText(country string) string {
	const counts = " The country from which the payment is redeemed for the first time counts."
	switch {
	case country == "":
		return fmt.Sprintf(
			"Prices are net. You could not be located, so %d%% VAT is added as in the EU: the net amount is what you "+
				"pay divided by 1.%d, and units follow it. Pay maxAmountRequired for unitsPerPayment.", plan.VATPercent,
			plan.VATPercent) +
			counts
	case plan.VATApplies(country):
		return fmt.Sprintf(
			"Prices are net. You are in the EU (%s), so %d%% VAT is added: the net amount is what you pay divided by "+
				"1.%d, and units follow it. Pay maxAmountRequired for unitsPerPayment.", country, plan.VATPercent,
			plan.VATPercent) + counts
	default:
		return fmt.Sprintf(
			"Prices are net. You are outside the EU (%s), so no VAT is added and units follow all that you pay. Pay "+
				"netAmountRequired for unitsPerPayment.", country) + counts
	}
}

// Manifest is the menu at the well-known path, with the fields in which most crawlers look for what
// can be paid for.
type Manifest struct {
	Version      int      `json:"version" doc:"version of this document's own form: 1"`
	Resources    []string `json:"resources" doc:"URLs that answer 402 and take payments of stock x402 clients, each for POST; empty when there are none"`
	Instructions string   `json:"instructions" doc:"how to pay, in a sentence"`
	Menu
}

func (h *handlers) getManifest() *operation.Operation[operation.Nothing, Manifest] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_payment_manifest", Title: "The menu, where crawlers look for it",
		Route:  operation.Route{Method: http.MethodGet, Path: "/.well-known/x402", Status: http.StatusOK},
		Access: operation.Everybody, Reads: true,
		Description: "Gives the fields of GET /x402, and the URLs that stock x402 clients pay at. Costs nothing.",
	}, h.runManifest)
}

func (h *handlers) runManifest(_ context.Context, c *operation.Call, _ operation.Nothing) (Manifest, error) {
	m := Manifest{Version: 1, Resources: []string{}, Menu: h.menu(c.CountryCode())}
	switch {
	case !h.Terms.Open():
		m.Instructions = closedCredential
	case h.StockClients:
		for _, id := range h.Pool.Chains() {
			m.Resources = append(m.Resources, h.PublicURL+stockPath+string(id))
		}
		m.Instructions = "POST JSON-RPC to a resource with a stock x402 client, which pays for a bundle of calls; or " +
			"pay by a transfer, redeem it as the menu says, and send the credential with calls to " + h.PublicURL +
			"/rpc/{chain}."
	default:
		m.Instructions = "Pay by a transfer, redeem it as the menu says, and send the credential with calls to " +
			h.PublicURL + "/rpc/{chain}."
	}
	return m, nil
}

// stockPath is the prefix of the paths at which stock x402 clients pay. The name of a chain
// follows.
const stockPath = "/x402/rpc/"
