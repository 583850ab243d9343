package relay

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestBatchMemory_EachBatchAndAllTogetherStayWithinTheirBounds(t *testing.T) {
	t.Parallel()
	shared := newBatchMemory(40 << 20)
	first, second := &room{shared: shared, most: batchAnswerBytes}, &room{shared: shared, most: batchAnswerBytes}
	for _, step := range []struct {
		of    *room
		bytes int
		want  vacancy
	}{
		{first, batchAnswerBytes, hasRoom},
		{first, 1, batchFull},
		{second, batchOwnBytes, hasRoom}, // its reserved memory
		{second, 8<<20 + batchOwnBytes, hasRoom},
		{second, 1, memoryFull},
		{second, batchAnswerBytes, batchFull},
	} {
		if got := step.of.take(step.bytes); got != step.want {
			t.Errorf("%d bytes more: %d, want %d", step.bytes, got, step.want)
		}
	}
	first.give(1 << 20)
	if second.take(1<<20) != hasRoom || second.take(1) != memoryFull {
		t.Error("what the first gave back is the second's to take, and no more")
	}
	third := &room{shared: shared, most: batchAnswerBytes}
	if third.take(batchOwnBytes) != hasRoom || third.take(1) != memoryFull {
		t.Error("a batch has its own 64 KiB when the memory is full, and no more")
	}
	third.give(batchOwnBytes)
	second.give(9<<20 + 2*batchOwnBytes)
	first.give(batchAnswerBytes - 1<<20)
	if left := shared.left.Load(); left != 40<<20 {
		t.Errorf("%d bytes are left after all was given back", left)
	}
}

func TestBatchMemory_IsCountedCorrectlyUnderContention(t *testing.T) {
	t.Parallel()
	shared := newBatchMemory(1 << 20)
	var wg sync.WaitGroup
	for range 8 {
		r := &room{shared: shared, most: batchAnswerBytes}
		for range 4 {
			wg.Go(func() {
				for n := range 500 {
					if size := 1000 * (n % 200); r.take(size) == hasRoom {
						if shared.left.Load() < 0 {
							t.Error("more was taken than there is")
						}
						r.give(size)
					}
				}
			})
		}
	}
	wg.Wait()
	if left := shared.left.Load(); left != 1<<20 {
		t.Errorf("%d bytes are left", left)
	}
}

func TestRoom_CountsItemsBeyondTheFreeOnes(t *testing.T) {
	t.Parallel()
	const most = 1000
	shared := newBatchMemory((most - freeItems) * itemBytes)
	first, second, small := &room{shared: shared}, &room{shared: shared}, &room{shared: shared}
	in := expect.In(t, "the memory is for one large batch, and for small ones beside it")
	expect.True(in, first.admit(most))
	expect.False(in, second.admit(freeItems+1))
	expect.True(in, small.admit(freeItems))
	for i := range most {
		first.leave()
		if left, want := shared.left.Load(), int64(min(i+1, most-freeItems)*itemBytes); left != want {
			t.Fatalf("%d bytes are left after %d items, want %d", left, i+1, want)
		}
	}
	if !second.admit(most) {
		t.Error("the memory of a batch that was sent is not free")
	}
}

// A panic that escaped would keep the item's memory taken for ever, and lose the answers of the
// other items.
func TestItem_PanicOutsideItsCallReturnsItsMemory(t *testing.T) {
	t.Parallel()
	const own = 1 << 20
	now := func() time.Time { panic("a defect that only the log keeps") }
	var logged bytes.Buffer
	r := &Relay{
		Options: Options{Now: now, Logger: slog.New(slog.NewTextHandler(&logged, nil))}, memory: newBatchMemory(own),
	}
	room := &room{shared: r.memory, most: batchAnswerBytes}
	require.True(t, room.admit(freeItems+1))
	require.Equal(t, r.memory.left.Load(), own-itemBytes)
	for _, item := range []string{`{"jsonrpc":"2.0","id":7,"method":"eth_call"}`, `{"id":7,"method":"eth_call"}`} {
		t.Run(item, func(t *testing.T) {
			reply := r.item(t.Context(), &Envelope{}, 3, []byte(item), room)
			require.NotNil(t, reply.Fault)
			expect.Equal(t, reply.Fault.Reason, fault.InternalFault)
			expect.NotContains(t, reply.Fault.Message, "defect")
			expect.Equal(t, string(reply.ID), "7")
			expect.Equal(t, reply.call.Index, 3)
		})
	}
	expect.Equal(t, r.memory.left.Load(), own)
	expect.Contains(t, logged.String(), "a defect")
}

// An item whose answer was being gathered holds memory of its batch as well.
func TestItem_PanicAfterItsCallReturnsTheMemoryOfItsAnswer(t *testing.T) {
	t.Parallel()
	const own = 1 << 20
	r := &Relay{Options: Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now}, memory: newBatchMemory(own)}
	room := &room{shared: r.memory, most: batchAnswerBytes}
	reply := &Reply{relay: r, room: room, Result: []byte("half")}
	require.Equal(t, room.take(2*batchOwnBytes), hasRoom)
	reply.held = 2 * batchOwnBytes
	spoiled := r.spoiled(t.Context(), reply, &Envelope{}, 0, nil, "a defect")
	require.NotNil(t, spoiled.Fault)
	expect.Nil(t, spoiled.Result)
	expect.Equal(t, r.memory.left.Load(), own)
}
