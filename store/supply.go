package store

import "github.com/chainaccess/gateway/plan"

func supplyOf(string) plan.Supply { return plan.Public }
