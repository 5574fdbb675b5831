//go:build tools

// Package tools names podman's generator of systemd units for go build: Debian 12's podman is older than it.
package tools

import _ "github.com/containers/podman/v4/cmd/quadlet"
