package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"acp-agent/internal/files"
)

// CredentialsFile is where `acp-agent login` keeps keys, empty when no place is
// known.
func (c *Config) CredentialsFile() string {
	if c.Dir == "" {
		return ""
	}
	return filepath.Join(c.Dir, "credentials.json")
}

func (c *Config) credentialsHint() string {
	if path := c.CredentialsFile(); path != "" {
		return " (keys are kept in " + path + ")"
	}
	return ""
}

// credentials reads the stored keys by provider; no file means none.
func (c *Config) credentials() (map[string]string, error) {
	path := c.CredentialsFile()
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fail("reading the stored keys "+path, files.Cause(err), "make the file readable to you, or remove it and run `acp-agent login`")
	}
	var keys map[string]string
	if err := json.Unmarshal(bytes.TrimPrefix(data, bom), &keys); err != nil {
		return nil, &Error{What: "the stored keys " + path + " are not a JSON object of strings", Do: "remove the file and run `acp-agent login`", Err: err}
	}
	return keys, nil
}

// StoreKey keeps a provider's key for later runs, readable by the person alone.
// An empty key removes it.
func (c *Config) StoreKey(provider, key string) error {
	path := c.CredentialsFile()
	if path == "" {
		return &Error{What: "finding a place for keys: neither XDG_CONFIG_HOME nor HOME is set", Do: "set one of them, or name a config file with --config"}
	}
	keys, err := c.credentials()
	if err != nil {
		return err
	}
	if keys == nil {
		keys = map[string]string{}
	}
	if key == "" {
		delete(keys, provider)
	} else {
		keys[provider] = key
	}
	data, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return fail("encoding the keys", err, "")
	}
	if err := files.Replace(path, append(data, '\n')); err != nil {
		return fail("storing the key in "+path, files.Cause(err), "make the directory writable, or set the provider's variable instead")
	}
	return nil
}
