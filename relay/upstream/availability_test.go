package upstream

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestStanding_TellsWhetherAChainHasACapabilityNow(t *testing.T) {
	t.Parallel()
	able, unable := measured(map[chain.Capability]bool{chain.Data: true}),
		measured(map[chain.Capability]bool{chain.Data: false})
	old := map[chain.Capability]Verdict{chain.Data: {Able: true, MeasuredAt: time.Now().Add(-verdictLasts)}}
	var (
		has     = UpstreamState{ChainIDOK: true, Usable: true, Capabilities: able}
		lacks   = UpstreamState{ChainIDOK: true, Usable: true, Capabilities: unable}
		unasked = UpstreamState{ChainIDOK: true, Usable: true}
		expired = UpstreamState{ChainIDOK: true, Usable: true, Capabilities: old}
		down    = UpstreamState{ChainIDOK: true, Reason: ReasonUnreachable, Capabilities: able}
		other   = UpstreamState{Reason: ReasonWrongChain, Capabilities: able}
	)
	for name, test := range map[string]struct {
		first, second UpstreamState
		cordoned      bool // the first upstream
		want          Availability
	}{
		"one has it":                               {has, lacks, false, Live},
		"one has it, the other was not asked":      {unasked, has, false, Live},
		"one has it and is down":                   {down, lacks, false, Away},
		"one has it and is down, other not asked":  {down, unasked, false, Away},
		"one has it and is cordoned":               {has, lacks, true, Away},
		"two have it, one is cordoned":             {has, has, true, Live},
		"none has it":                              {lacks, lacks, false, Absent},
		"one lacks it, the other was not asked":    {lacks, unasked, false, Unmeasured},
		"one lacks it, the other's verdict is old": {lacks, expired, false, Unmeasured},
		"nobody was asked":                         {unasked, unasked, false, Unmeasured},
		"who has it is of another chain":           {other, lacks, false, Absent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, c := poolOf(t, chain.EthMainnet, time.Now, providers(testkit.Upstream(t), testkit.Upstream(t)))
			if got := c.Availability(chain.Data); got != Unmeasured {
				t.Errorf("before any probe it is %d", got)
			}
			s := Snapshot{
				Chain: c.ID, ChainID: c.ChainID, MeasuredAt: time.Now(), Upstreams: []UpstreamState{
					test.first, test.second,
				},
			}
			for i, e := range c.endpoints {
				s.Upstreams[i].Name, s.Upstreams[i].Fingerprint = e.Name, e.fingerprint
			}
			c.Apply(s)
			c.endpoints[0].cordoned.Store(test.cordoned)
			if got := c.Availability(chain.Data); got != test.want {
				t.Errorf("it is %d, want %d", got, test.want)
			}
		})
	}
}
