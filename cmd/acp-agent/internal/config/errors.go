package config

// Error is a configuration that cannot be used: what is wrong with what, and
// what the person can do.
type Error struct {
	What, Do string
	// Usage: the command line (or a variable that stands for a flag) is wrong.
	Usage bool
	// Auth: a key is missing.
	Auth bool
	Err  error
}

func (e *Error) Error() string {
	if e.Do == "" {
		return e.What
	}
	return e.What + ": " + e.Do
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func fail(what string, err error, do string) *Error {
	return &Error{What: what + ": " + err.Error(), Do: do, Err: err}
}
