package logrange

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

func errorOf(message string, data any) []byte {
	raw, _ := json.Marshal(map[string]any{"code": -32000, "message": message, "data": data})
	return raw
}

const asked = 200_000

func TestReadRefusal_FindsTheNumberOfPublishedWordings(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]uint64{
		"Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your " +
			"parameters, this block range should work: [0x1180fca, 0x1180fd3]. Upgrade to PAYG for expanded " +
			"block range.": 10,
		"You can make eth_getLogs requests with up to a 2K block range":                          2000,
		"Based on your parameters, this block range should work: [0x123c9b2, 0x123cba5]":         500,
		"this block range should work: [0x0, 0x3e7]":                                             1000,
		"requested too many blocks from 50331648 to 51380224, maximum is set to 2048":            2048,
		"ranges over 10000 blocks are not supported on freetier":                                 10000,
		"too wide blocks range, the limit is 100":                                                100,
		"block range exceeds the limit of 100 blocks":                                            100,
		"exceed maximum block range 10000":                                                       10000,
		"exceed maximum block range: 50000":                                                      50000,
		"exceed max block range: 5000":                                                           5000,
		"exceeded max block range of 2000":                                                       2000,
		"query exceeds max block range 100000":                                                   100000,
		"query exceeds range, retry smaller (max block range 5000, got 16777216)":                5000,
		"block range is larger than max block range, block range = 5120, max block range = 5000": 5000,
		"block range greater than 10000 max":                                                     10000,
		"range 1000000 exceeds limit of 10000":                                                   10000,
		"eth_getLogs is limited to a 10,000 range":                                               10000,
		"eth_getLogs and eth_newFilter are limited to a 10,000 blocks range":                     10000,
		"eth_getLogs is limited to a 5 range, upgrade from discover plan":                        5,
		"eth_getLogs is limited to 1024 block range. Please check the parameter requirements":    1024,
		"eth_getLogs is limited to 0 - 50 blocks range":                                          50,
		"logs are limited to a 10000 block range":                                                10000,
		"maximum [from, to] blocks distance: 2000":                                               2000,
		"exceeds the range allowed for your plan (5000 > 3000)":                                  3000,
		"eth_getLogs range is too large, max is 1k blocks":                                       1000,
		"Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800":     800,
		"eth_getLogs block range too large, range: 855077, max: 3500":                            3500,
		"Maximum allowed number of requested blocks is 1000":                                     1000,
		"please limit the query to at most 1000 blocks":                                          1000,
		"block range exceeds 1000":                                                               1000,
		"block range is too wide (maximum 1024)":                                                 1024,
		"GetLogs query must be smaller than size 1024":                                           1024,
		"block range too large (2000), maximum allowed is 1000 blocks":                           1000,
		"block count exceeds the range of 500":                                                   500,
		"up to a 2000 block range":                                                               2000,
	} {
		t.Run(message, func(t *testing.T) {
			want := Refusal{Kind: Blocks, Limit: want, Stated: true}
			if got := ReadRefusal(errorOf(message, nil), asked); got != want {
				t.Errorf("%q is read as %+v, want %+v", message, got, want)
			}
		})
	}
	data := map[string]string{
		"range": "the range 55074203 - 55124202 exceeds the range allowed for your plan (49999 > 2000).",
	}
	if got := ReadRefusal(errorOf("Invalid params", data), asked); got.Limit != 2000 {
		t.Errorf("in the data it is read as %+v", got)
	}
}

func TestReadRefusal_HalvesWhatNamesNoUsableNumber(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		message     string
		asked, want uint64
		stated      bool
	}{
		{"Block range limit exceeded.", 1000, 500, false},
		{"Requested range exceeds maximum RPC range limit", 1001, 500, false},
		{"block range of 99999 is too big", 99_999, 49_999, false},
		{"block range is bigger than maxBlockRange", 3, 1, false},
		{"up to a 10 block range", 10, 9, true},       // it counts to - from
		{"up to a 2000 block range", 600, 300, false}, // it is not about this call
		{"up to a 0 block range", 600, 300, false},
		{"up to a 99999999999999999999 block range", 600, 300, false},
		{"this block range should work: [0x9, 0x1]", 600, 300, false},
		{"this block range should work: [0x0, 0xffffffffffffffff]", 600, 300, false},
	} {
		t.Run(row.message, func(t *testing.T) {
			want := Refusal{Kind: Blocks, Limit: row.want, Stated: row.stated}
			if got := ReadRefusal(errorOf(row.message, nil), row.asked); got != want {
				t.Errorf("%q of %d blocks is read as %+v, want %+v", row.message, row.asked, got, want)
			}
		})
	}
}

func TestReadRefusal_TellsLogsAndFiltersFromBlocks(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]Kind{
		"query returned more than 10000 results":                                                 Results,
		"query returned more than 10000 results. Try with this block range [0xBDE5F8, 0x102DB].": Results,
		"Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on " +
			"the response size, or any block range with a cap of 10K logs. this block range should work: " +
			"[0x1, 0x2]": Results,
		"response too large":  Results,
		"Response is too big": Results,
		"query exceeds max results 20000, retry with the range 6-9":  Results,
		"logs matched by query exceeds limit of 10000":               Results,
		"query returned more than allowed number of logs":            Results,
		"query timeout exceeded. Consider reducing your block range": Results,
		"limit exceeded": Results,
		"Please specify an address in your request":                    Other,
		"exceed max addresses or topics per search position":           Other,
		"This query contains 5006 filters. The current limit is 5000.": Other,
		"This range of parameters is not supported":                    Other,
	} {
		t.Run(message, func(t *testing.T) {
			if got := ReadRefusal(errorOf(message, nil), asked); got.Kind != want || got.Limit != 0 {
				t.Errorf("%q is read as %+v, want kind %d", message, got, want)
			}
		})
	}
	if got := ReadRefusal(errorOf("up to a 10 block range", nil), 1); got.Kind != Other {
		t.Errorf("one block that is too many is read as %+v", got)
	}
	if got := ReadRefusal([]byte(`"no object"`), 10); got != (Refusal{Kind: Blocks, Limit: 5}) {
		t.Errorf("no object is read as %+v", got)
	}
}

// Every published wording with which a log range is refused either states a number that is smaller
// than what was asked for, or is one of those that cannot.
func TestReadRefusal_ReadsThePackOfWordings(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../rules/testdata/wordings.tsv")
	if err != nil {
		t.Fatal(err)
	}
	silent := []string{
		"range limit", "too wide", "too large", "too big", "too high", "threshold exceeded", "maxblockrange",
		"block range.",
	}
	read := 0
	for line := range strings.Lines(string(raw)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if row[2] != "eth_getLogs" || row[7] != "range_refused" {
			continue
		}
		read++
		object := []byte(`{"code":` + row[4] + `,"message":` + strconv.Quote(row[5]) + `}`)
		if row[6] != "" {
			object = []byte(`{"code":` + row[4] + `,"message":` + strconv.Quote(row[5]) + `,"data":` + row[6] + `}`)
		}
		got := ReadRefusal(object, asked)
		if got.Kind == Blocks && !got.Stated && !containsAny(strings.ToLower(row[5]), silent) {
			t.Errorf("%s %q is read as %+v", row[1], row[5], got)
		}
	}
	if read < 50 {
		t.Errorf("the pack has %d refusals of log ranges, want 50", read)
	}
}
