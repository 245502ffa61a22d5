//go:build sdk

package openai

// The vendor's own types judge what this wire sends. Compiling them takes a minute,
// so that they have a tag: go test -tags sdk ./loop/model/...

import (
	"fmt"
	"net/http"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"acp-agent/loop/model/internal/wiretest"
)

func TestSDKReadsRequests(t *testing.T) {
	wiretest.ReadGoldens(t, func(params *sdk.ChatCompletionNewParams) string {
		if len(params.Messages) == 0 || len(params.Tools) != 2 {
			return fmt.Sprintf("%d messages and %d tools", len(params.Messages), len(params.Tools))
		}
		return ""
	})
}

func BenchmarkDecodeSDK(b *testing.B) {
	wiretest.BenchmarkDecodeSDK(b, benchBody(), func(res *http.Response) wiretest.SDKStream {
		return ssestream.NewStream[sdk.ChatCompletionChunk](ssestream.NewDecoder(res), nil)
	})
}
