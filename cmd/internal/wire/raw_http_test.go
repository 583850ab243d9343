package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
)

// rawClient is an HTTP client with only what a call needs.
type rawClient struct {
	conn   net.Conn
	buffer []byte
	wants  []byte // part of every answer
}

var (
	okStatus      = []byte("HTTP/1.1 200 OK\r\n")
	contentLength = []byte("content-length: ")
	endOfHead     = []byte("\r\n\r\n")
)

func (c *rawClient) call(request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	answer, err := readMessage(c.conn, c.buffer)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(answer, okStatus) || !bytes.Contains(answer, c.wants) {
		return fmt.Errorf("a call was answered %s", answer)
	}
	return nil
}

var errUnreadable = errors.New("a message is too long, or lacks its Content-Length")

// readMessage reads a request or an answer into buffer, without allocating.
func readMessage(from io.Reader, buffer []byte) ([]byte, error) {
	for n := 0; n < len(buffer); {
		got, err := from.Read(buffer[n:])
		if err != nil {
			return nil, err
		}
		n += got
		head := bytes.Index(buffer[:n], endOfHead)
		if head < 0 {
			continue
		}
		length, ok := lengthIn(buffer[:head+len(endOfHead)])
		if !ok {
			return nil, errUnreadable
		}
		if n >= head+len(endOfHead)+length {
			return buffer[:n], nil
		}
	}
	return nil, errUnreadable
}

// lengthIn returns the Content-Length of a header block, in any case.
func lengthIn(head []byte) (length int, ok bool) {
	for i := range head {
		if i+len(contentLength) > len(head) || !bytes.EqualFold(head[i:i+len(contentLength)], contentLength) {
			continue
		}
		for _, digit := range head[i+len(contentLength):] {
			if digit < '0' || digit > '9' {
				return length, true
			}
			length = 10*length + int(digit-'0')
		}
	}
	return 0, false
}

// startRawUpstream runs a node that allocates nothing per call and returns its URL.
func startRawUpstream(t testing.TB) string {
	t.Helper()
	listener := listenLocally(t)
	var serving sync.WaitGroup
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			serving.Go(func() { serveRaw(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		stop()
		serving.Wait()
	})
	return listener.Addr().String()
}

// rawID is the text before the id in requests and answers.
const rawID = `{"jsonrpc":"2.0","id":`

func serveRaw(conn net.Conn) {
	answers := map[string][]byte{}
	for method, result := range map[string]string{
		"eth_chainId": `"0x1"`, "eth_blockNumber": `"0x1000000"`, "": `"0xfeed"`,
		"eth_feeHistory": `{"oldestBlock":"0xfffffe","baseFeePerGas":["0x3b9aca00","0x3b9aca00"],` +
			`"gasUsedRatio":[0.5],"reward":[["0x1","0x2","0x3"]]}`,
		"eth_getTransactionReceipt": `{"blockNumber":"0x10","transactionHash":"` + storedHash + `","root":"0xfeed"}`,
	} {
		body := rawID + `0000000000000000,"result":` + result + `}`
		answers[method] = []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
			strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	}
	buffer := make([]byte, 8<<10)
	for {
		request, err := readMessage(conn, buffer)
		if err != nil {
			return // the gateway closed the connection
		}
		answer := answers[""]
		for method, other := range answers {
			if method != "" && bytes.Contains(request, []byte(method)) {
				answer = other
			}
		}
		_, id, _ := bytes.Cut(request, []byte(rawID))
		_, place, _ := bytes.Cut(answer, []byte(rawID))
		copy(place[:16], id) // as many digits as the gateway's ids have
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}
