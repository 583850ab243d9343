package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/service"
)

var update = flag.Bool("update", false, "write the golden file anew")

// The descriptions that models read must not change by accident.
func TestToolList_StaysAsItIs(t *testing.T) {
	t.Parallel()
	const path = "testdata/tools_list.golden.json"
	d := New(Options{
		Capabilities: service.New(service.Options{PublicURL: "https://gateway.example"}),
		PublicURL:    "https://gateway.example", Now: time.Now,
	})
	if want := len(strings.Fields(specified)); len(d.listed) != want {
		t.Errorf("%d tools are listed, the interface has %d", len(d.listed), want)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, d.list.plain, "", " "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	testkit.Golden(t, path, got.String(), *update)
}
