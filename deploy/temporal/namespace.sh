#!/bin/sh
# Makes the namespace of the gateway and the search attributes that its workflows set. Safe to repeat. The address and the
# namespace come in TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE, which the program reads by itself.
set -eu

temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
	temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 720h

for name in AccountID Stage StuckReason; do
	temporal operator search-attribute list | grep -qw "$name" ||
		temporal operator search-attribute create --name "$name" --type Keyword
done
