// The benchmark harness is a module of its own: the product gains no dependency
// by being measured.
module acp-agent-bench

go 1.26.0

require github.com/sourcegraph/jsonrpc2 v0.2.3
