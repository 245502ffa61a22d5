package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// PluginFile tells a plugin's hooks file from any other that a person names: the
// plugin's directory stands for its hooks/hooks.json, and a file of that name
// belongs to the plugin two levels above. root is "" for other files.
func PluginFile(path string) (file, root string) {
	path = filepath.Clean(path)
	if inside := filepath.Join(path, "hooks", "hooks.json"); isFile(inside) {
		return inside, path
	}
	if dir := filepath.Dir(path); filepath.Base(path) == "hooks.json" && filepath.Base(dir) == "hooks" {
		return path, filepath.Dir(dir)
	}
	return path, ""
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// PluginData is the directory below dir in which a plugin keeps what it wants to
// find again; it may not exist yet. Plugins of one name in two places have two.
func PluginData(dir, root string) string {
	if dir == "" || root == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, filepath.Base(root)+"-"+hex.EncodeToString(sum[:4]))
}
