package account

import "slices"

// Topic is what a user may do without mails about. Mails without one, such as those that sign in,
// are always sent.
type Topic string

// The topics.
const (
	TopicUsage     Topic = "usage"     // shares of an allowance that are used
	TopicIncidents Topic = "incidents" // chains that are down, and over again
	TopicPacks     Topic = "packs"     // packs that are about to expire
)

// Topics lists the topics. The order is part of links in mails that were sent: new ones go to the
// end.
func Topics() []Topic { return []Topic{TopicUsage, TopicIncidents, TopicPacks} }

// Known reports whether there is such a topic.
func (t Topic) Known() bool { return slices.Contains(Topics(), t) }
