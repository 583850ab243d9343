package account

import "slices"

// Topic is a kind of mail that a user can unsubscribe from. Mails without a topic, such as those
// for signing in, are always sent.
type Topic string

// The topics.
const (
	TopicUsage     Topic = "usage"     // shares of an allowance that were used
	TopicIncidents Topic = "incidents" // chains that are down or have recovered
	TopicPacks     Topic = "packs"     // packs that are about to expire
)

// Topics lists the topics. Links in sent mails contain the position: append new ones at the end.
func Topics() []Topic { return []Topic{TopicUsage, TopicIncidents, TopicPacks} }

// Known reports whether there is such a topic.
func (t Topic) Known() bool { return slices.Contains(Topics(), t) }
