package hooks

// Trust is the store of what the person has trusted, in a file outside every
// repository.
type Trust struct{ path string }
