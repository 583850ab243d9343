package heads

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed told.lua
var toldSource string

var toldScript = redis.NewScript(toldSource)

// Redis returns an exchange through a key in Redis.
func Redis(rdb redis.UniversalClient, key string) Exchange {
	return func(ctx context.Context, offer *Offer) (Shared, error) {
		args := make([]any, 0, 2+3*kinds)
		args = append(args, offer.epoch, shareTime.Microseconds())
		for kind := Latest; kind < kinds; kind++ {
			args = append(args, strconv.Itoa(int(kind)), offer.wanted[kind], offer.told[kind])
		}
		reply, err := toldScript.Run(ctx, rdb, []string{key}, args...).StringSlice()
		if err != nil {
			return Shared{}, fmt.Errorf("exchange heads: %w", err)
		}
		return decode(reply)
	}
}

var errReply = errors.New("exchange heads: the reply cannot be read")

func decode(reply []string) (s Shared, err error) {
	if len(reply) != int(kinds) {
		return s, errReply
	}
	if s.Epoch, err = strconv.ParseUint(reply[0], 10, 64); err != nil {
		return s, errReply
	}
	for kind := Latest; kind < kinds; kind++ {
		for text := range strings.FieldsSeq(reply[kind]) {
			head, age, ok := strings.Cut(text, "@")
			n, err := strconv.ParseUint(head, 10, 64)
			micros, wrong := strconv.ParseInt(age, 10, 64)
			if !ok || err != nil || wrong != nil {
				return s, errReply
			}
			s.heads[kind] = append(s.heads[kind], entry{n, time.Duration(micros) * time.Microsecond})
		}
	}
	return s, nil
}
