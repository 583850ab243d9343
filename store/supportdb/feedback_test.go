package supportdb_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/supportdb"
)

func TestFeedback_IsListedByPagesAndItsStatus(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	of, _ := storetest.NewDoorKey(1)
	other, _ := storetest.NewDoorKey(1)
	for _, a := range []accountdb.NewAccount{of, other} {
		storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, a))
	}
	scope := supportdb.Scope{UUID: uuid.New()}
	var given []supportdb.Feedback
	for i := range 5 {
		by := supportdb.Writer{Account: of.ID, Channel: "api"}
		if i == 4 {
			by.Scope = scope
		}
		f := supportdb.Feedback{
			ID: supportdb.NewFeedbackID(), Kind: "feature", Title: `<b>"more"</b>`, Chain: "eth_mainnet",
			CreatedAt: noon,
		}
		given = append(given, storetest.Must[supportdb.Feedback](t)(s.SubmitFeedback(ctx, by, f, nil)))
	}
	got := given[0]
	expect.Equal(t, got.Status, "new")
	expect.Equal(t, got.Title, `<b>"more"</b>`)
	expect.True(t, got.CreatedAt.Equal(noon), got.CreatedAt)
	by := accountdb.Author{Actor: "op@host", Origin: "ops"}
	storetest.Must[supportdb.Feedback](t)(s.AnswerFeedback(ctx, given[1].ID, supportdb.Answer{
		Status: "planned", Reply: "In spring.", By: by, At: noon,
	}, nil))
	list := func(f supportdb.FeedbackFilter) []supportdb.Feedback {
		return storetest.Must[[]supportdb.Feedback](t)(s.ListFeedback(ctx, f))
	}
	if got := list(supportdb.FeedbackFilter{Account: of.ID, Limit: 3}); len(got) != 3 || got[0].ID != given[4].ID {
		t.Errorf("the first page is %+v", got)
	} else if rest := list(supportdb.FeedbackFilter{Account: of.ID, Before: got[2].ID, Limit: 3}); len(rest) != 2 ||
		rest[1].ID != given[0].ID {
		t.Errorf("the second page is %+v", rest)
	}
	if got := list(supportdb.FeedbackFilter{Account: of.ID, Status: "planned", Limit: 3}); len(got) != 1 ||
		got[0].Reply != "In spring." {
		t.Errorf("planned are %+v", got)
	}
	if got := storetest.Must[supportdb.Feedback](t)(s.AnswerFeedback(ctx, given[1].ID,
		supportdb.Answer{Status: "shipped", By: by, At: noon}, nil)); got.Status != "shipped" ||
		got.Reply != "In spring." {
		t.Errorf("a status alone makes it %+v", got)
	}
	if got := list(supportdb.FeedbackFilter{Account: of.ID, Scope: scope, Limit: 3}); len(got) != 1 ||
		got[0].ID != given[4].ID {
		t.Errorf("the agent's are %+v", got)
	}
	if got := list(supportdb.FeedbackFilter{Account: other.ID, Limit: 3}); len(got) != 0 {
		t.Errorf("another account has %+v", got)
	}
	if _, err := s.AnswerFeedback(ctx, supportdb.NewFeedbackID(), supportdb.Answer{Status: "planned", By: by, At: noon},
		nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("answered what there is not: %v", err)
	}
	if _, err := s.AnswerFeedback(ctx, given[0].ID, supportdb.Answer{Status: "great", By: by, At: noon},
		nil); err == nil {
		t.Error("an unknown status is recorded")
	}
}

func TestFeedback_OfAnAccountIsBounded(t *testing.T) {
	t.Parallel()
	url, ctx := testkit.Postgres(t), t.Context()
	s := storetest.Must[*store.Store](t)(store.Open(ctx, url))
	t.Cleanup(s.Close)
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, url))
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	of, _ := storetest.NewDoorKey(1)
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
	storetest.Must[pgconn.CommandTag](t)(
		conn.Exec(ctx, `INSERT INTO feedback (id, account_id, kind, title, body, chain, channel, created_at)
		SELECT gen_random_uuid(), $1, 'other', 't', '', '', 'api', now() FROM generate_series(2, $2::integer)`,
			of.ID.UUID, supportdb.MaxFeedback))
	give := func() error {
		_, err := s.SubmitFeedback(ctx, supportdb.Writer{Account: of.ID, Channel: "api"},
			supportdb.Feedback{ID: supportdb.NewFeedbackID(), Kind: "other", Title: "t", CreatedAt: noon}, nil)
		return err
	}
	if err := give(); err != nil {
		t.Fatal(err)
	}
	if err := give(); !errors.Is(err, supportdb.ErrTooMuchFeedback) {
		t.Errorf("the 1001st: %v", err)
	}
}
