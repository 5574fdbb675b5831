//go:build tools

// Package tools names the store that windows are sent to in tests for go build: Versity's S3 gateway, over a directory.
package tools

import _ "github.com/versity/versitygw/cmd/versitygw"
