# syntax=docker/dockerfile:1
# Caddy with this module: docker build -t caddy-docs .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go tool xcaddy build v2.11.9 --output /out/caddy --with github.com/caddy-docs/caddy-docs@v0.0.0=.
RUN mkdir -p /out/data/caddy /out/config/caddy

# No shell and no package manager; certificates, time zones and a user are there.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/caddy /usr/bin/caddy
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/config /config
ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config
VOLUME ["/data", "/config"]
EXPOSE 80 443 443/udp
# The admin API answers, and the configuration has sites.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["/usr/bin/caddy", "docs", "status"]
ENTRYPOINT ["/usr/bin/caddy"]
CMD ["run", "--config", "/etc/caddy/Caddyfile"]
