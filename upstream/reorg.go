package upstream

// Generation is part of the key under which anything about the chain is stored: take it before asking an upstream, and store and look
// up under it. It grows when the probes see the chain reorganise deeper than chain.FinalDepth, and never goes down.
func (c *Chain) Generation() uint64 { return c.generation.Load() }

func (c *Chain) raiseGeneration(n uint64) {
	for {
		known := c.generation.Load()
		if n <= known || c.generation.CompareAndSwap(known, n) {
			return
		}
	}
}
