package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"acp-agent/cmd/acp-agent/internal/config"
)

// loginCmd is acp-agent login. ACP clients that offer terminal authentication
// start it in a terminal; exit status 0 tells them to connect again.
type loginCmd struct {
	Provider string `help:"Provider to store a key for; asked for when it is not given." placeholder:"NAME"`
	Remove   bool   `help:"Forget the stored key of the provider."`
}

// Run asks for a key and stores it. Without a terminal it reads the key from the
// first line of stdin.
func (c *loginCmd) Run(a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	names := slices.DeleteFunc(cfg.ProviderNames(), func(name string) bool {
		p, err := cfg.Provider(name)
		return err != nil || p.KeyEnv == ""
	})
	in := bufio.NewReader(a.stdin)
	tty := isTerminal(a.stdin)
	name := c.Provider
	if name == "" && !tty {
		return &usageError{"login has no terminal to ask on: name a provider with --provider and give the key on stdin"}
	}
	if name == "" {
		if name, err = a.askProvider(in, names); err != nil {
			return err
		}
	}
	if !slices.Contains(names, name) {
		return &usageError{fmt.Sprintf("no provider with a key is called %q: use one of %s", name, strings.Join(names, ", "))}
	}
	if c.Remove {
		if err := cfg.StoreKey(name, ""); err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "The stored key for %s is gone.\n", name)
		return nil
	}
	key, err := a.askKey(in, tty, name)
	if err != nil {
		return err
	}
	if err := cfg.StoreKey(name, key); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "The key for %s is kept in %s (readable by you alone).\n", name, cfg.CredentialsFile())
	if p, _ := cfg.Provider(name); cfg.Getenv(p.KeyEnv) != "" {
		fmt.Fprintf(a.stderr, "The variable %s is set as well and goes first.\n", p.KeyEnv)
	}
	return nil
}

func (a *app) askProvider(in *bufio.Reader, names []string) (string, error) {
	fmt.Fprintln(a.stderr, "Which provider's API key do you want to store?")
	for i, name := range names {
		fmt.Fprintf(a.stderr, "  %d  %s\n", i+1, name)
	}
	fmt.Fprint(a.stderr, "Number or name [1]: ")
	line, err := readLine(in)
	if err != nil {
		return "", fmt.Errorf("reading the provider: %w: run `acp-agent login` again", err)
	}
	if line == "" {
		return names[0], nil
	}
	for i, name := range names {
		if line == fmt.Sprint(i+1) {
			return name, nil
		}
	}
	return line, nil
}

// askKey reads a key, without showing it where there is a terminal.
func (a *app) askKey(in *bufio.Reader, tty bool, name string) (string, error) {
	if tty {
		fmt.Fprintf(a.stderr, "API key for %s (not shown): ", name)
		restore, err := hideInput(a.stdin)
		if err != nil {
			return "", &config.Error{What: "hiding the key while it is typed: " + err.Error(), Do: "give it on stdin: acp-agent login --provider " + name + " < FILE", Err: err}
		}
		defer func() {
			restore()
			fmt.Fprintln(a.stderr)
		}()
	}
	key, err := readLine(in)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the key: %w: run `acp-agent login` again", err)
	}
	switch {
	case key == "":
		return "", &config.Error{What: "no key was given", Do: "run `acp-agent login` again and paste it"}
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "", &config.Error{What: "the key holds blanks or control characters", Do: "paste the key alone"}
	}
	return key, nil
}

// readLine reads a line without its end. A last line without one counts.
func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if line != "" {
		err = nil
	}
	return strings.TrimSpace(line), err
}
