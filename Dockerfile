# syntax=docker/dockerfile:1

# One image for all production roles, selected by the command: serve, worker, migrate up.
FROM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS build
WORKDIR /src
ENV CGO_ENABLED=0 GOFLAGS=-trimpath
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -ldflags="-s -w" -o /out/ ./cmd/gateway ./deploy/healthcheck

# No shell, no package manager, and not root; certificates and time zones are included.
FROM gcr.io/distroless/static-debian12:nonroot@sha256:afa5c872c891853ca7fcf1f12c3edb23f7eeef36189728842dd51042ff57f7ab
COPY --from=build /out/gateway /out/healthcheck /
USER nonroot
EXPOSE 8080 9464
ENTRYPOINT ["/gateway"]
CMD ["serve"]
