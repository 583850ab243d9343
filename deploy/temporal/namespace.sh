#!/bin/sh
# Creates the gateway's namespace and its workflows' search attributes. Idempotent. The temporal
# program reads TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE itself.
set -eu

temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
	temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 720h

for name in AccountID Stage StuckReason; do
	temporal operator search-attribute list | grep -qw "$name" ||
		temporal operator search-attribute create --name "$name" --type Keyword
done
