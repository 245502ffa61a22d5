// Package acp is the Agent Client Protocol, version 1, as an agent needs it: the types of every
// method and update, the method table, errors, and the agent's side of a connection.
//
// It is a leaf: it knows JSON-RPC and nothing of the product. It does not read or write bytes (package
// stdio does), does not decide what a method does (package agent does) and has no client (package
// acptest has one for tests).
//
// # Types
//
// Types carry the names of the published schema (acp/schema); ids are plain strings under their schema
// names. A tagged union is a struct of pointers, one for each variant, exactly one of which is set:
//
//	acp.ContentBlock{Text: &acp.TextContent{Text: "hello"}}
//
// The discriminator is written and read by the codec. Two unions with a single small variant
// (RequestPermissionOutcome, CreateElicitationResponse) are flat instead.
//
// # Encoding and decoding
//
// Marshal and Unmarshal are the codec; encoding/json alone would write null for an empty required array
// and escape HTML, and would know none of the reading rules. Writing: required members always, arrays
// never null, optional members left out when zero. Reading:
//
//   - unknown members are ignored, names match exactly;
//   - a wrong value of an optional member decodes as absent, where the schema says so;
//   - a wrong or missing required member, and a malformed entry of a request array such as mcpServers,
//     is an *Error with code -32602 that names the field;
//   - null for a request array is an empty one, and so are absent mcpServers, args, env and headers;
//   - [] stands for an empty object and {} for an empty array, since Lua clients can't tell the two apart.
//
// # Connection
//
// Serve runs a connection. Requests are admitted on the reading goroutine, in the order of the wire,
// and run on goroutines of their own; see HandleRequest.
package acp
