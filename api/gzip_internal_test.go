package api

import (
	"bytes"
	"testing"
)

//nolint:paralleltest // it uses up the shared compressors
func TestGzip_AnswersGoPlainWhenAllCompressorsAreBusy(t *testing.T) {
	body := bytes.Repeat([]byte("0"), gzipFrom)
	var taken []*zipper
	defer func() {
		for _, z := range taken {
			z.release()
		}
	}()
	for range maxCompressing {
		if z := newZipper(&client{}); z != nil {
			taken = append(taken, z)
		}
	}
	if len(taken) != maxCompressing {
		t.Fatalf("%d streams are compressed", len(taken))
	}
	if compress(body) != nil || newZipper(&client{}) != nil {
		t.Error("there is a compressor too many")
	}
	taken[0].release()
	taken = taken[1:]
	for range 2 { // and each returns its own
		b := compress(body)
		if b == nil {
			t.Fatal("the one that was given back is not used")
		}
		giveBackZipped(b)
	}
}
