package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Mails counts attempts to send mails, and the mails that wait.
type Mails struct {
	attempts *prometheus.CounterVec
	waiting  *prometheus.GaugeVec
	oldest   *prometheus.GaugeVec
	kinds    map[string]bool
}

// WatchMails registers the metrics of mails of these kinds; every attempt ends with one of the
// results. Other kinds are counted as "other".
func (m *Metrics) WatchMails(kinds, results []string) *Mails {
	mails := &Mails{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_mail_attempts_total", Help: "Attempts to send mails, by kind and how they ended.",
		}, []string{"kind", "result"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "gateway_mails_waiting", Help: "Mails that are neither sent nor given up.",
		}, []string{"kind"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "gateway_mails_oldest_wait_seconds",
			Help: "How long the oldest mail that is neither sent nor given up has waited; 0 when none waits.",
		}, []string{"kind"}),
		kinds: map[string]bool{},
	}
	m.Registry.MustRegister(mails.attempts, mails.waiting, mails.oldest)
	for _, kind := range append([]string{otherKind}, kinds...) {
		mails.kinds[kind] = true
		mails.Waits(kind, 0, 0)
		for _, result := range results {
			mails.attempts.WithLabelValues(kind, result)
		}
	}
	return mails
}

const otherKind = "other"

func (m *Mails) kind(name string) string {
	if m.kinds[name] {
		return name
	}
	return otherKind
}

// Ended counts an attempt.
func (m *Mails) Ended(kind, result string) {
	m.attempts.WithLabelValues(m.kind(kind), result).Inc()
}

// Waits sets how many mails of a kind wait, and the age of the oldest in seconds.
func (m *Mails) Waits(kind string, count int, oldestSeconds float64) {
	m.waiting.WithLabelValues(m.kind(kind)).Set(float64(count))
	m.oldest.WithLabelValues(m.kind(kind)).Set(oldestSeconds)
}
