//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/toolbox/abi"
)

var abiSeed = flag.Int("abi-seed", 1, "of the calls that viem, ethers and package abi are compared on")

const abiCalls = 1000

func TestCalldata_IsDecodedAsByStockClients(t *testing.T) {
	t.Parallel()
	install(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "abi.js", strconv.Itoa(*abiSeed), strconv.Itoa(abiCalls))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("abi.js: %v\n%s", err, stderr.String())
	}
	calls := 0
	for line := range bytes.Lines(out) {
		var c struct {
			Signature, Calldata string
			Ethers, Viem        []any
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		calls++
		got, layout, err := decode(c.Signature, c.Calldata)
		switch {
		case err != nil:
			t.Errorf("%s refuses %s: %v", c.Signature, c.Calldata, err)
		case !reflect.DeepEqual(c.Ethers, c.Viem):
			t.Errorf("%s: ethers decodes %v, viem %v", c.Signature, c.Ethers, c.Viem)
		case !reflect.DeepEqual(got, c.Viem):
			t.Errorf("%s: decoded %v of %s, stock clients %v", c.Signature, got, c.Calldata, c.Viem)
		case layout != c.Calldata[len("0x12345678"):]:
			t.Errorf("%s: encoded again it is %s, stock clients encode %s", c.Signature, layout, c.Calldata)
		}
	}
	if calls != abiCalls {
		t.Errorf("%d calls were compared, want %d", calls, abiCalls)
	}
}

// decode returns the arguments, with tuples as lists, and the result of encoding them again.
func decode(signature, calldata string) (values []any, layout string, err error) {
	f, err := abi.ParseSignature(signature)
	if err != nil {
		return nil, "", err
	}
	data, err := hex.DecodeString(strings.TrimPrefix(calldata, "0x"))
	if err != nil {
		return nil, "", err
	}
	args, err := f.Decode(data[4:])
	if err != nil {
		return nil, "", err
	}
	values = []any{}
	for i := range args {
		values = append(values, listed(&args[i].Value))
	}
	if selector := f.Selector(); !bytes.Equal(selector[:], data[:4]) {
		return values, "another selector", nil
	}
	return values, hex.EncodeToString(abi.Encode(args)), nil
}

func listed(v *abi.Value) any {
	if v.Items == nil && v.Type.Kind != abi.Slice && v.Type.Kind != abi.Array && v.Type.Kind != abi.Tuple {
		return v.JSON()
	}
	list := []any{}
	for i := range v.Items {
		list = append(list, listed(&v.Items[i]))
	}
	return list
}
