module needless/quadlet

go 1.20

require (
	github.com/containers/podman/v4 v4.9.5 // indirect
	github.com/containers/storage v1.51.0 // indirect
)
