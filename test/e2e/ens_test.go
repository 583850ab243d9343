//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/toolbox/ens"
)

var ensSeed = flag.Int("ens-seed", 1, "of the names that viem, ethers and package ens are compared on")

// There are two intended differences: names that are too long for the DNS encoding are refused, and
// so is an apostrophe, which ENSIP-15 maps to a character outside of ASCII.
func TestENS_NormalizesAsStockClients(t *testing.T) {
	t.Parallel()
	install(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "ens.js", strconv.Itoa(*ensSeed))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ens.js: %v\n%s", err, stderr.String())
	}
	var accepted, refused, long, apostrophes int
	for line := range bytes.Lines(out) {
		var c struct {
			Name         string
			Viem, Ethers *string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if (c.Viem == nil) != (c.Ethers == nil) || c.Viem != nil && *c.Viem != *c.Ethers {
			t.Errorf("%q: viem and ethers differ", c.Name)
			continue
		}
		got, err := ens.Normalize(c.Name)
		switch {
		case c.Viem == nil:
			if err == nil {
				t.Errorf("%q becomes %q, stock clients refuse it", c.Name, got)
			}
			refused++
		case len(c.Name) > ens.MaxName && err != nil:
			long++
		case strings.Contains(c.Name, "'") && err != nil && strings.Contains(*c.Viem, "\u2019"):
			apostrophes++
		case err != nil || got != *c.Viem:
			t.Errorf("%q becomes %q, %v; stock clients make %q of it", c.Name, got, err, *c.Viem)
		default:
			accepted++
		}
	}
	t.Logf("accepted %d, refused %d, too long %d, with an apostrophe %d", accepted, refused, long, apostrophes)
	in := expect.In(t, "too few of a kind were compared")
	expect.AtLeast(in, accepted, 1500)
	expect.AtLeast(in, refused, 1500)
	expect.NotEqual(in, long, 0)
	expect.NotEqual(in, apostrophes, 0)
}
