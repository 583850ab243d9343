package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/relay/chain"
)

// servedMethod is a row of the method catalog.
type servedMethod struct {
	Name  string      `json:"name"`
	Units int         `json:"units" doc:"before the route tier's multiplier, when no parameter makes the call heavier"`
	Class chain.Class `json:"class" enum:"standard,heavy"`
	Cache string      `json:"cache" enum:"never,local,short,final" doc:"when an answer may come from the cache: never, always, for a moment, once its block is final"`
	Write bool        `json:"write" doc:"whether it submits: such a call goes to one upstream and is never sent again"`
	// Verifiable is set where honest upstreams give the same answer.
	Verifiable bool `json:"verifiable" doc:"whether X-Route-Verify takes it: honest upstreams give the same answer"`
}

// servedChain is the catalog of one chain.
type servedChain struct {
	Chain   chain.ID       `json:"chain"`
	ChainID uint64         `json:"chain_id,omitempty" doc:"EIP-155; absent on Solana"`
	Methods []servedMethod `json:"methods"`
}

// methodCatalog is the catalog of every chain that this gateway has upstreams for.
type methodCatalog struct {
	Chains  []servedChain `json:"chains"`
	Contact string        `json:"contact" doc:"whom to ask for a method that is not listed"`
}

// methods is GET /docs/methods, the method catalog. The field data.docs of catalog and range
// refusals links to it. It needs no key.
func (s *server) methods(c *gin.Context) {
	var all []servedChain
	for _, id := range s.Pool.Chains() {
		on, _ := s.Pool.Chain(id)
		one := servedChain{Chain: id, ChainID: on.ChainID}
		for _, m := range on.Methods() {
			one.Methods = append(one.Methods, servedMethod{
				Name: m.Name, Units: m.Weight, Class: m.Class, Cache: m.Cache.String(), Write: m.Write,
				Verifiable: m.Verifiable(),
			})
		}
		all = append(all, one)
	}
	c.Header("Cache-Control", "public, max-age=3600")
	c.JSON(http.StatusOK, methodCatalog{all, s.Links.Contact})
}
