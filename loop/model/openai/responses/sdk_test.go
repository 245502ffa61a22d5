//go:build sdk

package responses

// The vendor's own types judge what this wire sends. Compiling them takes a minute,
// so that they have a tag: go test -tags sdk ./loop/model/...

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3/packages/ssestream"
	sdk "github.com/openai/openai-go/v3/responses"

	"acp-agent/loop/model/internal/wiretest"
)

func TestSDKReadsRequests(t *testing.T) {
	wiretest.ReadGoldens(t, func(params *sdk.ResponseNewParams) string {
		if len(params.Input.OfInputItemList) < 15 || len(params.Tools) != 2 || params.Store.Value {
			return fmt.Sprintf("%d items and %d tools", len(params.Input.OfInputItemList), len(params.Tools))
		}
		return ""
	})
}

func BenchmarkDecodeSDK(b *testing.B) {
	wiretest.BenchmarkDecodeSDK(b, benchBody(), func(res *http.Response) wiretest.SDKStream {
		return ssestream.NewStream[sdk.ResponseStreamEventUnion](ssestream.NewDecoder(res), nil)
	})
}
