package acp

// Serving returns how many requests have been admitted and not been answered.
func (c *Conn) Serving() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.serving)
}

// Open reports whether the request with that id, as it is on the wire, is one of them.
func (c *Conn) Open(id string) bool {
	key, _ := IDKey(RequestId(id))
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.serving[key]
	return ok
}
