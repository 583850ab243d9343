package upstream

import (
	"context"
	"maps"
)

// capabilityProbes are the cheapest calls that tell whether an EVM upstream can do something.
var capabilityProbes = []struct{ name, method, params string }{
	{"debug", "debug_traceCall", `[{"to":"0x0000000000000000000000000000000000000000"},"latest",{"tracer":"callTracer"}]`},
	{"trace", "trace_call", `[{"to":"0x0000000000000000000000000000000000000000"},["trace"],"latest"]`},
	{"simulate", "eth_simulateV1", `[{"blockStateCalls":[{}]},"latest"]`},
	{"archive", "eth_getBalance", `["0x0000000000000000000000000000000000000000","0x1"]`},
}

// measureCapabilities asks for each capability. What an upstream does not answer clearly keeps its last verdict.
func (e *Endpoint) measureCapabilities(ctx context.Context, last map[string]bool) map[string]bool {
	measured := maps.Clone(last)
	if measured == nil {
		measured = make(map[string]bool, len(capabilityProbes))
	}
	for _, p := range capabilityProbes {
		r := Request{Method: []byte(p.method), Params: []byte(p.params)}
		e.limits.waitToProbe(ctx, e.health.now)
		answer, v, _, err := e.exchange(ctx, r.body(), maxProbeAnswer, deadlineOf(ctx))
		if err != nil {
			continue
		}
		switch v.meaning {
		case isAnswer:
			measured[p.name] = answer.Error == nil
		case isAbsent, isUnsupported, isMissingData:
			measured[p.name] = false
		default: // not clear: asked again next time
		}
		answer.Release()
	}
	return measured
}
