package acp

import "testing"

func TestSmoke(t *testing.T) {
	b, err := Marshal(SessionNotification{SessionID: "s", Update: SessionUpdate{AgentMessageChunk: &ContentChunk{Content: TextBlock("a<b>&\n")}}})
	t.Logf("%s %v", b, err)
	var n SessionNotification
	err = Unmarshal(b, &n)
	t.Logf("%+v %v", n.Update.AgentMessageChunk.Content.Text, err)
	var ns NewSessionRequest
	t.Log(Unmarshal([]byte(`{"cwd":"/","mcpServers":[{"name":"x","command":3}]}`), &ns))
	t.Log(Unmarshal([]byte(`{"cwd":"/"}`), &ns), ns.McpServers != nil)
	var in InitializeRequest
	for _, v := range []string{"0", "1", `"1"`, "true", "1.5", "null", "65535", "65536", "-1", "1.0"} {
		t.Log(v, Unmarshal([]byte(`{"protocolVersion":`+v+`,"clientCapabilities":[]}`), &in))
	}
	t.Log(Unmarshal([]byte(`{}`), &in))
}
