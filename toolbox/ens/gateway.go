package ens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/internal/egress"
)

// maxURLs is the maximum number of gateways that are tried for one lookup.
const maxURLs = 4

// statusError is a gateway's answer without success.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("a gateway answered with HTTP %d", e.status) }

// refused reports a 4xx, after which no other gateway is asked (EIP-3668).
func (e *statusError) refused() bool {
	return e.status >= http.StatusBadRequest && e.status < http.StatusInternalServerError
}

var errTooMany = fmt.Errorf("more than %d requests to gateways", maxRequests)

// ask tries the gateways of a lookup in order until one answers or refuses (EIP-3668, client lookup
// protocol).
func (s *session) ask(ctx context.Context, l *lookup) ([]byte, error) {
	failure := errors.New("a lookup without gateways")
	for _, url := range l.urls {
		if s.left.Add(-1) < 0 {
			failure = errTooMany
			break
		}
		answer, err := s.fetch(ctx, url, l)
		if err == nil {
			return answer, nil
		}
		failure = err
		if told, ok := errors.AsType[*statusError](err); ok && told.refused() {
			break
		}
		if ctx.Err() != nil {
			break
		}
	}
	s.mu.Lock()
	s.failure = failure
	s.mu.Unlock()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("ask gateways: %w", ctx.Err())
	}
	return nil, gatewayFault(failure)
}

// fetch asks one gateway: by GET if its URL has {data}, else by POST.
func (s *session) fetch(ctx context.Context, url string, l *lookup) ([]byte, error) {
	request, err := requestOf(url, l)
	if err != nil {
		return nil, err
	}
	answer, err := s.names.gateways.Do(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("ask a gateway: %w", err)
	}
	if answer.Status < http.StatusOK || answer.Status >= http.StatusMultipleChoices {
		return nil, &statusError{answer.Status}
	}
	var body struct {
		Data string `json:"data"`
	}
	if err := json.Unmarshal(answer.Body, &body); err != nil {
		return nil, fmt.Errorf("read the answer of a gateway: %w", err)
	}
	data, err := hexutil.Decode(body.Data)
	if err != nil {
		return nil, fmt.Errorf("data in the answer of a gateway: %w", err)
	}
	return data, nil
}

func requestOf(url string, l *lookup) (egress.Request, error) {
	sender, data := hexutil.Encode(l.sender[:]), hexutil.Encode(l.data)
	asks := strings.Count(url, "{data}")
	if asks*len(data)+strings.Count(url, "{sender}")*len(sender)+len(url) > egress.MaxURL {
		return egress.Request{}, fmt.Errorf("a URL of more than %d bytes", egress.MaxURL)
	}
	filled := strings.NewReplacer("{sender}", sender, "{data}", data).Replace(url)
	if asks > 0 {
		return egress.Request{URL: filled}, nil
	}
	body, err := json.Marshal(map[string]string{"data": data, "sender": sender})
	if err != nil {
		return egress.Request{}, fmt.Errorf("body for a gateway: %w", err)
	}
	return egress.Request{URL: filled, Body: body}, nil
}
