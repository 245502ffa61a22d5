//go:build sdk

package anthropic

// The vendor's own types judge what this wire sends. Compiling them takes a minute,
// so that they have a tag: go test -tags sdk ./loop/model/...

import (
	"fmt"
	"net/http"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"acp-agent/loop/model/internal/wiretest"
)

func TestSDKReadsRequests(t *testing.T) {
	wiretest.ReadGoldens(t, func(params *sdk.MessageNewParams) string {
		if len(params.Messages) == 0 || len(params.Tools) != 2 || params.MaxTokens == 0 {
			return fmt.Sprintf("%d messages and %d tools", len(params.Messages), len(params.Tools))
		}
		return ""
	})
}

func BenchmarkDecodeSDK(b *testing.B) {
	wiretest.BenchmarkDecodeSDK(b, benchBody(), func(res *http.Response) wiretest.SDKStream {
		return ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(res), nil)
	})
}
