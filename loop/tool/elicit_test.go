package tool

import "testing"

func TestAsksSecret(t *testing.T) {
	for text, want := range map[string]bool{
		"What is your password?": true, "api_key": true, "openaiApiKey": true, "OPENAI_API_KEY": true, "GitHub access token": true,
		"accessToken": true, "PIN": true, "pinned": false, "keyboard": false, "token count": false, "maxTokens": false,
		"Which key binding?": false, "spinCount": false, "username": false, "": false,
	} {
		if got := AsksSecret(text); got != want {
			t.Errorf("AsksSecret(%q) = %v", text, got)
		}
	}
}
